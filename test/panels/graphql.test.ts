import { expect } from 'chai';
import { graphqlPanel } from '../../app/panels/graphql/index.ts';
import { Context } from '../../app/profiler/record/context.ts';
import { graphqlOperation } from '../support/observed-samples.ts';
import { dataOf, panelPage, summaryOf } from '../support/panel-data.ts';

describe('the panel of GraphQL', () => {
  it('shows operations with variables and errors, and the costliest fields first', () => {
    const context = new Context({ token: '000001', kind: 'request' });
    const times = { calls: 20, slowestMs: 4, failed: 0, startMs: 6 };
    context.add('graphql', graphqlOperation({
      errors: [{ message: 'No order 7', path: 'order.items' }],
      resolvers: [{ ...times, field: 'Query.order', calls: 1, totalMs: 3 }, { ...times, field: 'Item.stock', totalMs: 40 }],
    })); // prettier-ignore
    expect(summaryOf(graphqlPanel, dataOf(graphqlPanel, context)!)).to.deep.equal({
      text: 'GetOrders',
      tone: 'bad',
      count: 1,
    });
    const $ = panelPage(graphqlPanel, context);
    expect($('#o1').text()).to.contain('GetOrders').and.contain('order.items: No order 7');
    const fields = $('[id^="o1-f"]').map((_index, row) => $(row).attr('id')).get(); // prettier-ignore
    expect(fields.slice(0, 2)).to.deep.equal(['o1-f2', 'o1-f1']);
  });
});
