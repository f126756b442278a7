/** The part of proxy-addr that is used; it has no types of its own. */
declare module 'proxy-addr' {
  const proxyAddr: { compile(ranges: readonly string[]): (address: string) => boolean };
  export default proxyAddr;
}
