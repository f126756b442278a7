// Shows each <time> in the reader's zone; UTC stays in `datetime` and is shown on hover. Without script the page says UTC.
// A request of the last hour shows how long ago it began, and its time on hover.

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

const RECENT = 'td.c-at time';
const HOUR_MS = 3_600_000;

// Empty if the moment is no recent one, or lies ahead by this browser's clock.
function ageText(moment, now) {
  const seconds = Math.floor((now - moment) / 1000);
  if (seconds < 0 || now - moment >= HOUR_MS) return '';
  return seconds < 60 ? `${seconds} s ago` : `${Math.floor(seconds / 60)} min ago`;
}

function showAges() {
  const now = new Date();
  for (const time of document.querySelectorAll(RECENT)) {
    const moment = new Date(time.dateTime);
    const text = ageText(moment, now) || timeText(time, moment, now.toDateString());
    if (time.textContent !== text) time.textContent = text;
  }
}

// From now on; a hidden page catches up when it is shown.
export function startAges() {
  if (document.querySelector('[data-live]') === null) return;
  setInterval(() => {
    if (!document.hidden) showAges();
  }, 5000);
  document.addEventListener('visibilitychange', showAges);
}

export function showLocalTimes() {
  const now = new Date();
  for (const time of document.querySelectorAll('time[datetime]:not([title])')) {
    const moment = new Date(time.dateTime);
    const utc = `${time.dateTime.replace('T', ' ').replace('Z', '')} UTC`;
    time.title = time.matches(RECENT) ? `${formats.full.format(moment)}\n${utc}` : utc;
    time.textContent = timeText(time, moment, now.toDateString());
  }
  showAges();
  for (const zone of document.querySelectorAll('[data-zone]')) zone.textContent = zoneAt(now);
}
