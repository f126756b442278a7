/** How many parts two texts or lists begin with alike, and how many of the others they end with. */
export function commonEnds<Part>(one: ArrayLike<Part>, other: ArrayLike<Part>): [start: number, end: number] {
  const most = Math.min(one.length, other.length);
  let start = 0;
  while (start < most && one[start] === other[start]) start++;
  let end = 0;
  while (end < most - start && one[one.length - 1 - end] === other[other.length - 1 - end]) end++;
  return [start, end];
}
