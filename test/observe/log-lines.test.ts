import { expect } from 'chai';
import { readLine } from '../../app/observe/logs/log-lines.ts';

const NEST = '[Nest] 4711  - 11/23/2026, 7:00:00 AM';

describe('a line on standard output', () => {
  for (const [line, level, channel, message] of [
    [`${NEST}   ERROR [ExceptionsHandler] no such order`, 'error', 'ExceptionsHandler', 'no such order'],
    [`${NEST}    WARN [Orders] slow`, 'warn', 'Orders', 'slow'],
    [`${NEST}     LOG started`, 'info', null, 'started'],
    [`${NEST} VERBOSE [Orders] all of it`, 'debug', 'Orders', 'all of it'],
    ['[2026-11-23T07:00:00.000] [WARN] orders - late', 'warn', 'orders', 'late'],
    ['[2026-11-23T07:00:00.000] [FATAL] orders - gone', 'error', 'orders', 'gone'],
    ['ERROR: disk full', 'error', null, null],
    ['WARN disk nearly full', 'warn', null, null],
    ['[error] disk full', 'error', null, null],
    ['2026-11-23T07:00:00.000Z ERROR disk full', 'error', null, null],
    ['2026-11-23 07:00:00,123 [warn] disk nearly full', 'warn', null, null],
    ['{"log.level":"error","message":"disk full"}', 'error', null, 'disk full'],
    ['{"name":"shop","level":50,"msg":"disk full","v":0}', 'error', 'shop', 'disk full'],
    ['Error handling is documented.', 'info', null, null],
    ['Warning signs: none', 'info', null, null],
    ['[orders] 3 - of 5 ERROR codes', 'info', null, null],
  ] as const)
    it(`is ${level}: ${line}`, () => {
      expect(readLine(line, 'stdout')).to.include({ level, channel, message: message ?? line });
    });
});
