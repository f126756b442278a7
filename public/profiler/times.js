// Shows each <time> in the reader's zone; UTC stays in `datetime` and is shown on hover. Without script the page says UTC.

const CLOCK = { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' };
const DAY = { day: 'numeric', month: 'short' };
const formats = {
  clock: new Intl.DateTimeFormat('en-GB', CLOCK),
  day: new Intl.DateTimeFormat('en-GB', { ...DAY, ...CLOCK }),
  // With the zone: `20 Nov 2026, 15:32:07.214 CET`.
  full: new Intl.DateTimeFormat('en-GB', {
    ...DAY, year: 'numeric', ...CLOCK, fractionalSecondDigits: 3, timeZoneName: 'short',
  }), // prettier-ignore
};

function zoneAt(moment) {
  return formats.full.formatToParts(moment).find(({ type }) => type === 'timeZoneName').value;
}

function timeText(time, moment, today) {
  if (time.hasAttribute('data-full')) return formats.full.format(moment);
  return moment.toDateString() === today ? formats.clock.format(moment) : formats.day.format(moment);
}

export function showLocalTimes() {
  const now = new Date();
  for (const time of document.querySelectorAll('time[datetime]:not([title])')) {
    const moment = new Date(time.dateTime);
    time.title = `${time.dateTime.replace('T', ' ').replace('Z', '')} UTC`;
    time.textContent = timeText(time, moment, now.toDateString());
  }
  for (const zone of document.querySelectorAll('[data-zone]')) zone.textContent = zoneAt(now);
}
