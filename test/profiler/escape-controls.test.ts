/** Text from requests in log lines: nothing that a terminal obeys, and no line that begins where a log line begins. */
import { expect } from 'chai';
import { escapeControls, escapeLogEntry } from '../../app/profiler/escape-controls.ts';

describe('control characters in log lines', () => {
  it('are escaped, C1, line separators and marks of direction included', () => {
    expect(escapeControls('\x1b[2J\r\n\0\x7f\x9b\u2028\u202e ok é')).to.equal(
      '\\x1b[2J\\x0d\\x0a\\x00\\x7f\\x9b\\u2028\\u202e ok é',
    );
  });

  it('are escaped in a stack, too, whose lines stay lines', () => {
    expect(escapeLogEntry('Error: \x1b[31mX\nFAKE line\r\x9b31m\n    at f (a.js:1:2)\n\tat g')).to.equal(
      'Error: \\x1b[31mX\n    FAKE line\\x0d\\x9b31m\n    at f (a.js:1:2)\n    \\x09at g',
    );
  });
});
