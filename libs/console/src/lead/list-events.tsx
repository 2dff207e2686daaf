import type { ComponentChildren } from 'preact'
import { Link } from 'wouter-preact'
import { leadsApi } from '../api'
import { labelEvent, nameEndpoint } from '../endpoints'
import { Action } from '../parts/action'
import { Badge } from '../parts/badge'
import { DeliveryState } from '../parts/deliveries-table'
import { formatBytes, formatUkInstant } from '../parts/format'
import { saveFile } from '../parts/save-file'
import { nameActor } from '../users'
import { describeChange } from './describe-change'
import { DuplicateChange } from './duplicate-change'
import { nameUser } from './lead-values'
import type { Attachment, HistoryEntry, ListName, Rows, Scheduled } from './load-lead'
import { NoteEntry } from './note-entry'
import { readNumber } from './paged-list'
import type { LeadPage } from './use-lead'

/** A record of a lead in its timeline. */
export interface TimelineEvent {
  key: string
  kind: ListName
  at: string
  /** Names the event and, if known, the user or token behind it. */
  title: ComponentChildren
  content?: ComponentChildren
}

type Render<Row> = (row: Row, page: LeadPage) => Omit<TimelineEvent, 'kind' | 'key'>

const ACTION_TITLES: Record<HistoryEntry['action'], string> = {
  created: 'Lead created',
  updated: 'Lead changed',
  erased: 'Lead erased',
}

const renderBy = (text: string, actor: HistoryEntry['actor']) =>
  actor ? `${text} by ${nameActor(actor)}` : text

const renderEntry: Render<Scheduled> = ({ kind, date, user_id, created_at, ...entry }, { shown }) => ({
  at: created_at,
  title: kind === 'appointment' ? 'Appointment booked' : 'Callback booked',
  content: (
    <p>
      {`${formatUkInstant(date)}, ${nameUser(shown.users, user_id)} `}
      {entry.done_at && <Badge word="Done" tone="good" />}
      {entry.cancelled_at && <Badge word="Cancelled" tone="calm" />}
    </p>
  ),
})

const load = async (reference: string, id: number): Promise<Blob> =>
  (await leadsApi().download(reference, id)).blob()

const FileContent = ({ file, reference }: { file: Attachment; reference: string }) => (
  <div class="actions">
    <span class="wrap">
      {file.name} <span class="faint">{`${file.file_name}, ${formatBytes(file.file_size)}`}</span>
    </span>
    <Action
      label={`Download ${file.file_name}`}
      quiet
      run={() => saveFile(file.file_name, () => load(reference, file.id))}
    />
  </div>
)

const RENDERERS: { [Name in ListName]: Render<Rows[Name]> } = {
  notes: (note, page) => ({
    at: note.created_at,
    title: `${renderBy('Note', note.author)}${note.updated_at ? ', edited' : ''}`,
    content: <NoteEntry note={note} page={page} />,
  }),
  history: ({ at, action, actor, changes }, { shown }) => ({
    at,
    title: renderBy(ACTION_TITLES[action], actor),
    content: changes.length > 0 && (
      <ul>
        {changes.map((change) => (
          <li key={change.field}>
            {change.field === 'duplicate_of' ? (
              <DuplicateChange {...change} />
            ) : (
              describeChange(change, shown.users)
            )}
          </li>
        ))}
      </ul>
    ),
  }),
  appointments: renderEntry,
  callbacks: renderEntry,
  files: (file, { lead }) => ({
    at: file.created_at,
    title: 'File added',
    content: <FileContent file={file} reference={lead.reference} />,
  }),
  deliveries: (delivery, { shown }) => {
    const endpoint = shown.endpoints?.find(({ id }) => id === delivery.endpoint_id)
    return {
      at: delivery.created_at,
      title: (
        <>
          {`${labelEvent(delivery.event)} → ${endpoint ? nameEndpoint(endpoint) : 'deleted endpoint'}: `}
          <Link href={`/deliveries/${delivery.id}`}>{`delivery #${delivery.id}`}</Link>{' '}
          <DeliveryState delivery={delivery} />
        </>
      ),
    }
  },
}

const listKind = <Name extends ListName>(kind: Name, page: LeadPage): TimelineEvent[] => {
  const render: Render<Rows[Name]> = RENDERERS[kind]
  const rows: Rows[Name][] = page.shown.lists[kind].rows
  return rows.map((row) => ({ kind, key: `${kind}-${readNumber(row)}`, ...render(row, page) }))
}

/**
 * Lists the loaded events of some kinds, newest first. Omits events that are older than the last loaded row
 * of a kind that has more rows, because a row of this kind could be missing between them. `incomplete` is
 * that kind.
 */
export const listEvents = (
  kinds: ListName[],
  page: LeadPage,
): { events: TimelineEvent[]; incomplete: ListName | undefined } => {
  const loaded = kinds.map((kind) => ({ kind, events: listKind(kind, page) }))
  const [end] = loaded
    .filter(({ kind }) => page.shown.lists[kind].next !== null)
    .map(({ kind, events }) => ({ kind, at: events.at(-1)?.at ?? '' }))
    .toSorted((a, b) => b.at.localeCompare(a.at))
  const events = loaded
    .flatMap(({ events }) => events)
    .filter(({ at }) => !end || at >= end.at)
    .toSorted((a, b) => b.at.localeCompare(a.at))
  return { events, incomplete: end?.kind }
}
