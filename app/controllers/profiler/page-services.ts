/**
 * What the profiler's controllers get, as one object, and what an action is: a question to `profiles`, a view model,
 * an answer. Nothing here knows Express, a database, or a panel by name.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RuleTexts } from '../../profiler/finding-rule.ts';
import type { FormSigner } from '../../profiler/form-signature.ts';
import type { Panel } from '../../profiler/panel.ts';
import type { Profiles } from '../../profiler/profiles.ts';
import type { Recording } from '../../profiler/recording.ts';
import type { Assets } from './assets.ts';
import type { Live } from './live.ts';
import type { ToolbarScript } from './toolbar-script.ts';

export interface PageServices {
  profiles: Profiles;
  recording: Recording;
  /** For forms that change something. */
  forms: FormSigner;
  live: Live;
  /** In the order of the menu. */
  panels: readonly Panel[];
  /** Of the rules by which findings are made; default: none are explained. */
  rules?: RuleTexts;
  /** Markdown of the built-in panels, by name. */
  panelMarkdown?: Readonly<Record<string, NonNullable<Panel['markdown']>>>;
  renderPage: (view: string, model: object) => string;
  assets: Assets;
  toolbarScript: ToolbarScript;
  /** Security headers of every answer that is the profiler's own: the policy, nosniff, frames, referrer. */
  ownHeaders: () => readonly (readonly [name: string, value: string])[];
  /** Origins of separate front ends that may ask what the toolbar asks. */
  frontEnds: ReadonlySet<string>;
  /** Masks secrets in a text that stands alone. */
  redactText: (text: string) => string;
  /** Lines of the foot: version, Node, process, storage. */
  foot: readonly string[];
  /** What is kept and for how long, one sentence; shown where a token is not found. */
  retention: string;
}

/** One request to a page; its path has been matched. */
export interface PageRequest {
  req: IncomingMessage;
  res: ServerResponse;
  /** Parts of the path by name: `token`, `file`. */
  params: Readonly<Record<string, string>>;
  /** Secrets in its values are masked. */
  query: URLSearchParams;
  /** `scheme://host[:port]` as the client sees it; null where the host is invalid. */
  origin: () => string | null;
  /** Address of who asks, as it is recorded. */
  client: () => string;
}

/** Answers, or throws an error of the catalogue, which the host's error handler answers. */
export type PageAction = (page: PageRequest) => void | Promise<void>;
