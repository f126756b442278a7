import { expect } from 'chai';
import { replyOf } from '../../app/observe/databases/redis-reply.ts';
import { createRedactor } from '../../app/profiler/masking/redact.ts';

describe('the reply to a command of Redis', () => {
  it('says how long the value is kept', () => {
    const lifetimes: [string, unknown[], unknown, number | null | undefined][] = [
      ['SET', ['a', '1'], 'OK', null],
      ['SET', ['a', '1', 'EX', 60], 'OK', 60_000],
      ['SET', ['a', '1', 'px', '1500', 'NX'], 'OK', 1500],
      ['SET', ['a', '1', 'EX', 60, 'NX'], null, undefined],
      ['SET', ['a', '1', 'KEEPTTL'], 'OK', undefined],
      ['SETEX', ['a', 5, '1'], 'OK', 5000],
      ['PSETEX', ['a', 5, '1'], 'OK', 5],
      ['EXPIRE', ['a', 7], 1, 7000],
      ['EXPIRE', ['a', 7], 0, undefined],
      ['PEXPIRE', ['a', 7], 1, 7],
      ['GETEX', ['a', 'EX', 3], 'x', 3000],
      ['GET', ['a'], 'x', undefined],
      ['HSET', ['a', 'f', 'v'], 0, undefined],
    ];
    for (const [command, args, result, lifetimeMs] of lifetimes)
      expect(replyOf(command, args, result).lifetimeMs, `${command} ${args.join(' ')}`).to.equal(lifetimeMs);
  });

  it('says what was found, changed and read', () => {
    expect(replyOf('GET', ['a'], null)).to.deep.equal({ hits: 0 });
    expect(replyOf('GET', ['a'], Buffer.from([0xff, 1]))).to.deep.equal({ hits: 1, length: 2 });
    expect(replyOf('MGET', ['a', 'b'], ['1', null])).to.deep.include({ hits: 1, size: 2 });
    expect(replyOf('DEL', ['a'], 0)).to.deep.equal({ hits: null, reply: 0 });
    expect(replyOf('SMEMBERS', ['a'], new Set(['1', '2']))).to.deep.include({ hits: null, size: 2 });
    expect(replyOf('SET', ['a', 'four', 'NX'], null)).to.deep.equal({ hits: null, reply: 0, length: 4 });
    expect(replyOf('GET', ['a'], undefined)).to.deep.equal({ hits: null });
  });

  it('has what was read, by the name that masking goes by', () => {
    const read: [string, unknown[], unknown, unknown][] = [
      ['GET', ['otp:7'], '4711', { name: 'otp:7', value: '4711' }],
      ['HGET', ['user:7', 'pin'], '4711', { name: 'pin', value: '4711' }],
      [
        'HMGET',
        ['user:7', 'pin', 'city'],
        ['4711', null],
        { name: 'HMGET', value: { pin: '4711', city: null } },
      ],
      ['MGET', ['otp:7'], ['4711'], { name: 'MGET', value: { 'otp:7': '4711' } }],
      ['GET', ['otp:7'], Buffer.from('4711'), { name: 'otp:7', value: '4711' }],
      [
        'HGETALL',
        ['user:7'],
        [Buffer.from('pin'), Buffer.from('4711')],
        { name: 'user:7', value: { pin: '4711' } },
      ],
      ['ZREVRANGEBYSCORE', ['otp:7', '3', '-inf'], ['4711'], { name: 'otp:7', value: ['4711'] }],
      ['HGETALL', ['user:7'], { pin: '4711' }, { name: 'user:7', value: { pin: '4711' } }],
    ];
    for (const [command, args, result, found] of read) {
      const reply = replyOf(command, args, result);
      expect(reply.found, command).to.deep.equal(found);
      expect(JSON.stringify(createRedactor().tree({ reply }).value), command).not.to.contain('4711');
    }
    expect(replyOf('SET', ['a', '1'], 'OK').found).to.equal(undefined);
  });
});
