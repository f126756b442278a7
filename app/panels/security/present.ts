import type { EmptyState } from '../../profiler/panel.ts';
import type { ProfileHead } from '../../profiler/profile.ts';
import type { Presentation, Row, Section } from '../../profiler/rows.ts';
import { numberHelpers } from '../../view-helpers/numbers.ts';
import { authorsText } from '../shared/header-authors.ts';
import type { SecurityData } from './data.ts';
import { parsePolicy, type Policy } from './policy.ts';
import { checkHeaders, type HeaderCheck, POLICY_HEADERS } from './rules.ts';
import type { CookieFlags } from './set-cookie.ts';

const { count } = numberHelpers;

/** Each checked header, with its problem. */
export function checksOf({
  scheme,
  contentType,
  sent,
}: Pick<SecurityData, 'scheme' | 'contentType' | 'sent'>): HeaderCheck[] {
  return checkHeaders({
    all: (name) => sent[name] ?? [],
    html: /^(?:text\/html|application\/xhtml\+xml)\b/i.test(contentType ?? ''),
    https: scheme === 'https',
  });
}

function headerRow(check: HeaderCheck, index: number, { authors }: SecurityData): Row {
  const steps = authors[check.header.toLowerCase()] ?? [];
  const mark = check.state === 'missing' ? ['missing'] : check.isProblem ? ['weak'] : [];
  return {
    id: `h-${index + 1}`,
    label: check.header,
    badges: mark,
    tone: mark.length > 0 ? 'warn' : 'plain',
    ...(check.values.length > 0 ? { text: check.values.join('\n') } : {}),
    fields: [
      {
        label: 'State',
        value: check.state === 'sent' ? 'sent' : check.state === 'missing' ? 'missing' : 'not sent',
      },
      { label: 'Set by', value: steps.length === 0 ? undefined : authorsText(steps) },
    ],
    note: check.note,
    place: steps.at(-1)?.place ?? null,
  };
}

function policySection({ enforced, directives, open }: Policy, at: number): Section {
  return {
    id: `policy-${at + 1}`,
    title: enforced ? 'Content security policy' : 'Content security policy, report only',
    ...(open.length > 0 ? { note: open.join(' ') } : {}),
    columns: { label: 'Directive', text: 'Allows', note: 'Weakness' },
    rows: directives.map(({ name, values, note }, index) => ({
      id: `csp-${at + 1}-${index + 1}`,
      label: name,
      text: values.join(' '),
      tone: note === null ? 'plain' : 'warn',
      note,
    })),
  };
}

function cookieRow({ name, dropped, problems, ...flags }: CookieFlags, index: number): Row {
  const yesOrNo = (flag: boolean): string => (flag ? 'yes' : 'no');
  return {
    id: `c-${index + 1}`,
    label: name || '(no name)',
    tone: dropped !== null ? 'bad' : problems.length > 0 ? 'warn' : 'plain',
    fields: [
      { label: 'Secure', value: yesOrNo(flags.secure) },
      { label: 'HttpOnly', value: yesOrNo(flags.httpOnly) },
      { label: 'SameSite', value: flags.sameSite ?? 'not set' },
      { label: 'Path', value: flags.path },
      { label: 'Domain', value: flags.domain },
      { label: 'Expires', value: flags.lifetime },
    ],
    note: dropped !== null ? `rejected by browsers: ${dropped}` : problems.join(', '),
  };
}

export function presentSecurity(data: SecurityData): Presentation {
  const { scheme, contentType, sent, jar, missing } = data;
  const checks = checksOf(data);
  const policies = POLICY_HEADERS.flatMap((name) =>
    (sent[name] ?? []).map((text) => parsePolicy(text, name === 'content-security-policy')),
  );
  const noPolicy = checks.some(
    ({ header, state }) => header === 'Content-Security-Policy' && state === 'missing',
  )
    ? 'No policy was sent: the page may load and run anything.'
    : 'No policy was sent; a response of this type needs none.';
  return {
    figures: [
      { label: 'Security headers sent', value: checks.filter(({ state }) => state === 'sent').length },
      { label: 'Missing', value: missing },
      { label: 'Ineffective', value: checks.filter(({ isProblem }) => isProblem).length },
      { label: 'Cookies set', value: jar.length },
      { label: 'Scheme', value: scheme },
    ],
    sections: [
      {
        id: 'headers',
        title: 'Headers',
        note:
          contentType === null ? 'of a response without a content type' : `of ${contentType.slice(0, 100)}`,
        columns: { label: 'Header', note: 'What it does', place: 'Set at' },
        rows: checks.map((check, index) => headerRow(check, index, data)),
        card: 'in order',
      },
      ...(policies.length === 0
        ? [{ id: 'policy', title: 'Content security policy', rows: [], none: noPolicy }]
        : policies.map(policySection)),
      {
        id: 'cookies',
        title: 'Cookies set',
        note: `${count(jar.length)}; their values are not recorded`,
        columns: { label: 'Name', note: 'Notice' },
        rows: jar.map(cookieRow),
        none: 'The response set no cookie.',
      },
    ],
  };
}

export function noHeaders({ state }: ProfileHead): EmptyState {
  return {
    what: 'No response header was recorded.',
    why:
      state === 'running'
        ? 'The request is still running: its headers are not sent yet.'
        : 'No response was sent.',
  };
}
