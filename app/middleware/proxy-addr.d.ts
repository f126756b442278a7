/** What is used of proxy-addr, which brings no types. */
declare module 'proxy-addr' {
  const proxyAddr: { compile(ranges: readonly string[]): (address: string) => boolean };
  export default proxyAddr;
}
