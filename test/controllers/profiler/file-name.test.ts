import { expect } from 'chai';
import { attachment } from '../../../app/controllers/profiler/respond.ts';
import type { Profile } from '../../../app/profiler/profile.ts';

function nameOf(method: string, url: string): string | undefined {
  return attachment({ method, url, token: 'b69e96' } as Profile, 'html')['content-disposition'];
}

describe('the name of a downloaded profile', () => {
  it('says what it is, whatever the address was', () => {
    expect(nameOf('GET', '/orders/4712?tab=items')).to.equal(
      'attachment; filename="GET-orders-4712-b69e96.html"',
    );
    expect(nameOf('GET', '/')).to.equal('attachment; filename="GET-b69e96.html"');
    expect(nameOf('POST', '/a/../"b"\r\nX: y/ü')).to.equal('attachment; filename="POST-a-b-X-y-b69e96.html"');
    expect(nameOf('JOB', `/${'x'.repeat(500)}`)).to.have.length.below(110);
  });
});
