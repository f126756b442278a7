/**
 * Which tags of a document are those of SVG and MathML: there `<style>` and `<script>` hold markup, `<![CDATA[` is no comment, and a
 * script of ours would not run.
 *
 * Follows the standard's rules for foreign content (13.2.6.5) exactly while that content closes what it opens, as nearly all
 * does. Where it does not, what is open depends on all of the document above it: it is murky from there on, and who asks has
 * to be wary.
 */

interface Open {
  name: string;
  isHtml: boolean;
  /** Its content is HTML again: `all` of it, all but two elements of `math`, or only an `svg`. */
  holds: 'all' | 'text' | 'svg' | 'none';
}

export interface ForeignContent {
  /** A start tag; true where it is one of HTML. `attribute` reads one of its attributes. */
  start(name: string, isSelfClosing: boolean, attribute: (name: string) => string | undefined): boolean;
  /** An end tag; true where it closes an element of foreign content. */
  end(name: string): boolean;
  /** It can't be told any more which tags are foreign. */
  muddle(): void;
  readonly isMurky: boolean;
  /** The innermost open element is foreign. */
  readonly isForeign: boolean;
  /** Nothing foreign is open. */
  readonly isPlain: boolean;
}

const BREAKOUT = new Set(
  (
    'b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing menu meta nobr ol p pre ' +
    'ruby s small span strong strike sub sup table tt u ul var'
  ).split(' '),
);
const VOID = new Set(
  (
    'area base basefont bgsound br col embed frame hr image img input keygen link meta param source track ' +
    'wbr'
  ).split(' '),
);
const MATH_TEXT = new Set(['mi', 'mo', 'mn', 'ms', 'mtext']);
const SVG_HTML = new Set(['foreignobject', 'desc', 'title']);

export function createForeignContent(): ForeignContent {
  const open: Open[] = [];
  let isMurky = false;
  const top = (): Open | undefined => open.at(-1);
  const isForeign = (): boolean => top()?.isHtml === false;

  function muddle(): void {
    isMurky = true;
    open.length = 0;
  }

  function familyOf(): 'svg' | 'math' {
    return open.findLast(({ name, isHtml }) => !isHtml && (name === 'svg' || name === 'math'))?.name ===
      'math'
      ? 'math'
      : 'svg';
  }

  function holdsOf(
    name: string,
    attribute: (name: string) => string | undefined,
    family: 'svg' | 'math',
  ): Open['holds'] {
    if (family === 'svg') return SVG_HTML.has(name) ? 'all' : 'none';
    if (MATH_TEXT.has(name)) return 'text';
    if (name !== 'annotation-xml') return 'none';
    return /^(?:text\/html|application\/xhtml\+xml)$/i.test(attribute('encoding') ?? '') ? 'all' : 'svg';
  }

  /** Whether a start tag is read by the rules of HTML where `parent` is the innermost element. */
  function readsAsHtml({ isHtml, holds }: Open, name: string): boolean {
    if (isHtml || holds === 'all') return true;
    if (holds === 'text') return name !== 'mglyph' && name !== 'malignmark';
    return holds === 'svg' && name === 'svg';
  }

  function leaveForeign(): void {
    for (
      let at = top();
      at !== undefined && !at.isHtml && at.holds !== 'all' && at.holds !== 'text';
      at = top()
    )
      open.pop();
  }

  function startHtml(name: string, isSelfClosing: boolean): boolean {
    if (name === 'svg' || name === 'math') {
      if (!isSelfClosing) open.push({ name, isHtml: false, holds: 'none' });
      return false;
    }
    if (open.length > 0 && !VOID.has(name)) open.push({ name, isHtml: true, holds: 'none' });
    return true;
  }

  return {
    start(name, isSelfClosing, attribute) {
      const parent = top();
      if (isMurky) return name !== 'svg' && name !== 'math';
      if (parent === undefined || readsAsHtml(parent, name)) return startHtml(name, isSelfClosing);
      const breaksOut =
        BREAKOUT.has(name) ||
        (name === 'font' && ['color', 'face', 'size'].some((key) => attribute(key) !== undefined));
      if (breaksOut) {
        leaveForeign();
        return startHtml(name, isSelfClosing);
      }
      if (!isSelfClosing) open.push({ name, isHtml: false, holds: holdsOf(name, attribute, familyOf()) });
      return false;
    },
    end(name) {
      const inner = top();
      if (isMurky || inner === undefined) return false;
      if (inner.isHtml) {
        if (inner.name === name) open.pop();
        else muddle();
        return false;
      }
      for (let i = open.length - 1; i >= 0 && open[i]?.isHtml === false; i--) {
        if (open[i]?.name !== name) continue;
        open.length = i;
        return true;
      }
      // Nothing is closed by these two; any other closes what is open outside, and the foreign content with it, or nothing.
      if (name !== 'body' && name !== 'html') muddle();
      return false;
    },
    muddle,
    get isMurky() {
      return isMurky;
    },
    get isForeign() {
      return isForeign();
    },
    get isPlain() {
      return open.length === 0;
    },
  };
}
