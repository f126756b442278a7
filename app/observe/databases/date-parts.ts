/** Day and time of a date in a zone, which is so many minutes ahead of UTC: drivers send dates in the zone of the process or the session. */
export function dateParts(date: Date, offset: number): { day: string; time: string } {
  const [day = '', time = ''] = new Date(date.getTime() + offset * 60_000).toISOString().split('T');
  return { day, time: time.slice(0, -1) };
}
