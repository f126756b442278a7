import { expect } from 'chai';
import multer from 'multer';
import { urls } from '../../app/urls.ts';
import { withFindingsApp } from '../support/findings-app.ts';

describe('the order of a form with files', () => {
  const ask = withFindingsApp((app) => {
    app.post('/receipts', multer({ storage: multer.memoryStorage() }).single('receipt'), (_req, res) => {
      res.send('filed');
    });
  });
  const markdownOf = async (order: readonly string[]): Promise<string> => {
    const body = new FormData();
    for (const name of order)
      if (name === 'receipt') body.append(name, new Blob(['Taxi 23.40']), 'taxi.txt');
      else body.append(name, 'travel');
    const { profile } = await ask('/receipts', { method: 'POST', body });
    return ask.page(urls.profileMarkdown(profile.token));
  };

  it('is that of the client, in the command and among the received values', async () => {
    const last = await markdownOf(['receipt', 'folder', 'note']);
    expect(last).to.match(/-F 'receipt=@[^]*--form-string 'folder=travel'[^]*--form-string 'note=/);
    expect(last).to.contain('10 B, sent before folder, note');
    const first = await markdownOf(['folder', 'receipt']);
    expect(first).to.match(/--form-string 'folder=travel'[^]*-F 'receipt=@/);
    expect(first.split('## Code')[0]).to.not.contain('sent before');
  });
});
