import { expect } from 'chai';
import express from 'express';
import { withFindingsApp } from '../../support/findings-app.ts';

describe('a refusal by a comparison of texts', () => {
  const ask = withFindingsApp((app) => {
    app.use(express.urlencoded());
    app.post('/bids', (req, res) => {
      const bid = req.body as { amount: string };
      const { highest = '' } = req.query as { highest?: string };
      if (bid.amount <= highest) {
        res.status(409).json({ error: 'too low' });
        return;
      }
      res.json({ leads: true });
    });
    app.post('/numbers', (req, res) => {
      const bid = { amount: Number((req.body as { amount: string }).amount) };
      if (bid.amount <= Number(req.query.highest)) {
        res.status(409).json({ error: 'too low' });
        return;
      }
      res.json({ leads: true });
    });
  });

  async function overviewOf(path: string, amount: string): Promise<string> {
    const { profile } = await ask(path, { method: 'POST', body: new URLSearchParams({ amount }) });
    return ask.page(`/_profiler/${profile.token}.md`);
  }

  it('stands out with the comparison and the line that sent it', async () => {
    const markdown = await overviewOf('/bids?highest=950', '1000');
    expect(markdown).to.match(
      /compared as text.*bid\.amount <= highest.*by number, it is false.*refused-by-text\.test\.ts:12/,
    );
  });

  it('does not if it is as by number, or the numbers were compared', async () => {
    for (const [path, amount] of [
      ['/bids?highest=950', '900'],
      ['/bids?highest=950', '990'],
      ['/numbers?highest=9500', '1000'],
    ] as const)
      expect(await overviewOf(path, amount), path).not.to.contain('compared as text');
  });
});
