import { expect } from 'chai';
import { shownUrl } from '../../app/view-helpers/text.ts';

describe('a URL as it is shown', () => {
  for (const [sent, shown] of [
    ['/m%C3%BCnchen/%e6%9d%b1%e4%ba%ac?q=%F0%9F%8D%8B', '/münchen/東京?q=🍋'],
    ['/%D7%A9%D7%9C%D7%95%D7%9D', '/שלום'],
    // Delimiters and spaces of ASCII, a percent sign that is sent encoded.
    ['/a%2Fb%20c%3Fd%26e%25C3%25BC', '/a%2Fb%20c%3Fd%26e%25C3%25BC'],
    // No UTF-8: cut off, overlong, a surrogate, beyond Unicode.
    ['/%C3/%C0%AF/%ED%A0%80/%F7%BF%BF%BF', '/%C3/%C0%AF/%ED%A0%80/%F7%BF%BF%BF'],
    // A mark of direction, a space of no width, a control character of C1.
    ['/%E2%80%AEgpj.exe%E2%80%8B%C2%85', '/%E2%80%AEgpj.exe%E2%80%8B%C2%85'],
  ])
    it(sent ?? '', () => {
      expect(shownUrl(sent ?? '')).to.equal(shown);
    });
});
