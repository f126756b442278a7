/**
 * `/_profiler/<token>/source/<place>`: the source around a place, and what ran there. No request names a file: the address has a hash, and
 * only what the profile itself holds as a place is compared with it. A client's own text is never one: places are what panels present as such.
 */
import { dataOf } from '../../panels/shared/panel-data.ts';
import type { Profile } from '../../profiler/profile.ts';
import type { FoundProfile } from '../../profiler/read/profiles.ts';
import type { Panel } from '../../profiler/panel.ts';
import type { Figure, Section } from '../../profiler/read/rows.ts';
import type { Thrown } from '../../profiler/record/thrown.ts';
import { framePlace } from '../../view-helpers/frames.ts';
import { placeKey, sourcePlace } from '../../view-helpers/editor.ts';
import { presentPanel } from '../../render/present-panel.ts';
import { rowsPage } from '../../render/rows-page.ts';
import type { PageAction, PageServices } from './page-services.ts';
import { createPageNotFound } from './routes/route-errors.ts';
import { requireProfile } from './require-profile.ts';
import { createAnswers } from './respond.ts';

const MOST_ROWS = 10;
const NOT_BESIDE = new Set(['exception', 'overview']);

interface Presented {
  sections: { panel: Panel; section: Section }[];
  figures: Figure[];
}

function framePlaces({ chain }: Thrown): string[] {
  return chain.flatMap(({ frames, errors }) => [
    ...frames.filter(({ kind }) => kind === 'own').map((frame) => framePlace(frame)),
    ...errors.flatMap(framePlaces),
  ]);
}

export function createSourceController(services: PageServices): { source: PageAction } {
  const { sourceAt } = services;
  const { html } = createAnswers(services);

  function present({ profile, amendments }: FoundProfile): Presented {
    const all = services.panels.map((panel) => ({
      panel,
      shown: presentPanel(panel, { profile, amendments }),
    }));
    return {
      sections: all.flatMap(({ panel, shown }) =>
        (shown?.sections ?? []).map((section) => ({ panel, section })),
      ),
      figures: all.flatMap(({ shown }) => [...(shown?.figures ?? [])]),
    };
  }

  function placeOf(key: string, profile: Profile, { sections, figures }: Presented): string | null {
    const rows = sections.flatMap(({ section }) => section.rows.map(({ place }) => place));
    const totals = figures.map(({ value, isPlace }) => (isPlace === true ? value : null));
    const findings = profile.findings.map(({ place }) => place);
    const thrown = (dataOf(profile, 'exception')?.errors ?? []).flatMap((error) => framePlaces(error.thrown));
    for (const text of [...rows, ...findings, ...totals, ...thrown]) {
      const place = typeof text === 'string' ? sourcePlace(text) : null;
      if (place !== null && placeKey(place) === key) return place;
    }
    return null;
  }

  function besides(place: string, { sections }: Presented) {
    return rowsPage(
      {
        sections: sections
          .filter(({ panel }) => !NOT_BESIDE.has(panel.name))
          .flatMap(({ panel, section }) => {
            const rows = section.rows.filter(
              (row) => typeof row.place === 'string' && sourcePlace(row.place) === place,
            );
            if (rows.length === 0) return [];
            const shown = rows.slice(0, MOST_ROWS).map(({ id: _id, place: _place, fields = [], ...row }) => ({
              ...row,
              fields: fields.filter(({ value }) => value !== null && value !== undefined),
            }));
            const title = section.title === panel.title ? panel.title : `${panel.title}: ${section.title}`;
            return {
              ...section,
              id: `at-${section.id}`,
              title,
              rows: shown,
              left: rows.length - shown.length,
            };
          }),
      },
      { page: {}, query: {} },
    );
  }

  return {
    async source(page) {
      const found = await requireProfile(services, page);
      const { profile } = found;
      const presented = present(found);
      const place = placeOf(page.params.place ?? '', profile, presented);
      if (place === null) throw createPageNotFound(page.req, services.redactText);
      const source = sourceAt(place);
      const model = {
        title: place,
        profile,
        place,
        line: Number(place.replace(/^.*:/, '')),
        source,
        isChanged: (source?.changedAt ?? 0) > profile.startedAt,
        beside: besides(place, presented),
      };
      await html(page, 'profiler/source', model);
    },
  };
}
