const base = process.env.PARTNER_URL;

export class PartnerError extends Error {
  constructor(path, cause) {
    super(`partner failed: ${path}`, { cause });
    this.status = 502;
  }
}

export async function ask(path, init) {
  const response = await fetch(`${base}${path}`, { signal: AbortSignal.timeout(3000), ...init });
  if (!response.ok) throw new PartnerError(path);
  return response.json();
}

export const rateOf = (currency) => ask(`/rates/${currency}`);
export const shippingOf = (country) => ask(`/shipping/${country}`);
export const taxOf = (country) => ask(`/tax/${country}`);
export const stockOf = (ids) => ask(`/stock?ids=${ids.join(',')}`);
