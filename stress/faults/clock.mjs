/** Loaded into the service: its clock is off by the milliseconds that the file CLOCK_FILE says, read ten times a second. */
import { readFileSync } from 'node:fs';

const { CLOCK_FILE } = process.env;
const RealDate = Date;
let shift = 0;

function read() {
  try {
    shift = Number(readFileSync(CLOCK_FILE, 'utf8'));
  } catch {
    shift = 0;
  }
}

globalThis.Date = class Date extends RealDate {
  constructor(...given) {
    if (given.length === 0) super(RealDate.now() + shift);
    else super(...given);
  }

  static now() {
    return RealDate.now() + shift;
  }
};
read();
setInterval(read, 100).unref();
