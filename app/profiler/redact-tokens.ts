/**
 * Masks tokens that say by their beginning whose they are. The beginnings are public, so that scanners find lost tokens: GitHub documents
 * its own and those of its partners ("supported secret scanning patterns").
 */
import { createHeadScan } from './redact-heads.ts';
import { MASK } from './redact-rules.ts';
import { addTo } from './group-by.ts';

interface Kind {
  prefixes: readonly string[];
  /** What follows the prefix. */
  rest: RegExp;
}

const WORD = /[\w-]{20,}/y;
/** Most tokens; a digit distinguishes them from words. */
const LOOSE = /(?=[A-Za-z_-]*\d)[\w-]{16,}/y;
const HEX = /[a-f0-9]{32,}/iy;

const KINDS: readonly Kind[] = [
  { prefixes: ['AKIA', 'ASIA', 'ABIA', 'ACCA'], rest: /[0-9A-Z]{16,}/y },
  { prefixes: ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_', 'npm_', 'hf_'], rest: /[A-Za-z0-9]{30,}/y },
  {
    prefixes: [
      'github_pat_', 'glpat-', 'gldt-', 'glrt-', 'glcbt-', 'glptt-', 'glft-', 'glsoat-', 'gloas-', 'glimt-', 'sk_live_', 'sk_test_',
      'rk_live_', 'rk_test_', 'whsec_', 'xapp-', 'sk-proj-', 'sk-ant-', 'sk-or-', 'GOCSPX-', 'sq0atp-', 'sq0csp-', 'PMAK-', 'NRAK-',
      'sntrys_', 'sntryu_', 'ntn_', 'figd_', 'dckr_pat_', 'ATATT3', 'tskey-', 'pscale_tkn_', 'pscale_pw_', 'pscale_oauth_', 'glsa_',
      'glc_', 'xkeysib-', 'xsmtpsib-', 'gsk_', 'pplx-', 'nfp_', 'sbp_', 'sb_secret_', 'rubygems_', 'lin_api_', 'phx_', 'pypi-', 'CCIPAT_',
      'bkua_', 'HRKU-', 'ops_', 'AGE-SECRET-KEY-1', 'r8_', 'secret_', 'fio-u-', 'oy2', 'xai-',
    ],
    rest: LOOSE,
  },
  { prefixes: ['sk-'], rest: /(?=[A-Za-z]*\d)[A-Za-z0-9]{20,}/y },
  { prefixes: ['AIza'], rest: /[\w-]{35}/y },
  { prefixes: ['1//0'], rest: WORD },
  { prefixes: ['ya29.', 'hvs.', 'hvb.', 'hvr.', 'dp.pt.', 'dp.st.', 'SG.'], rest: /[\w.-]{20,}/y },
  { prefixes: ['xoxa-', 'xoxb-', 'xoxc-', 'xoxd-', 'xoxe-', 'xoxe.', 'xoxp-', 'xoxr-', 'xoxs-'], rest: /[A-Za-z0-9%.-]{10,}/y },
  { prefixes: ['shpat_', 'shpca_', 'shppa_', 'shpss_', 'dop_v1_', 'doo_v1_', 'dor_v1_', 'dapi', 'key-', 'pul-'], rest: HEX },
  { prefixes: ['hooks.slack.com/services/'], rest: /[\w/]{20,}/y },
  { prefixes: ['discord.com/api/webhooks/', 'discordapp.com/api/webhooks/'], rest: /\d{5,25}\/[\w-]{20,}/y },
  { prefixes: ['/bot'], rest: /\d{6,12}:[\w-]{30,}/y },
  { prefixes: ['$2a$', '$2b$', '$2y$', '$argon2i', '$argon2d', '$scrypt$'], rest: /[\w$+/.=,-]{30,}/y },
]; // prettier-ignore

export const TOKEN_HEADS = KINDS.flatMap(({ prefixes }) => prefixes);

const findHead = createHeadScan(TOKEN_HEADS);

/** Kinds by the first three characters of their prefixes. */
const BY_HEAD = new Map<string, { prefix: string; rest: RegExp }[]>();
for (const { prefixes, rest } of KINDS) {
  for (const prefix of prefixes) {
    const head = prefix.slice(0, 3);
    addTo(BY_HEAD, head, { prefix, rest });
  }
}

function isWordBefore(text: string, at: number, prefix: string): boolean {
  return at > 0 && /^\w/.test(prefix) && /[A-Za-z0-9]/.test(text.charAt(at - 1));
}

/** Position after the token that begins at `at`; -1: none does. */
function endOfToken(text: string, at: number): number {
  for (const { prefix, rest } of BY_HEAD.get(text.slice(at, at + 3)) ?? []) {
    if (!text.startsWith(prefix, at) || isWordBefore(text, at, prefix)) continue;
    rest.lastIndex = at + prefix.length;
    if (rest.test(text)) return rest.lastIndex;
  }
  return -1;
}

export function maskTokens(text: string): string {
  let result = '';
  let done = 0;
  for (let at = findHead(text); at !== -1;) {
    const end = endOfToken(text, at);
    if (end !== -1) {
      result += text.slice(done, at) + MASK;
      done = end;
    }
    at = findHead(text, end === -1 ? at + 1 : end);
  }
  return done === 0 ? text : result + text.slice(done);
}
