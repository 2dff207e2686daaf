import { useState } from 'preact/hooks'
import { Action } from '../parts/action'
import { Field, Options } from '../parts/form'
import { Ago } from '../parts/time'
import { AddFile } from './add-file'
import { AddNote } from './add-note'
import { listEvents } from './list-events'
import type { ListName } from './load-lead'
import type { LeadPage } from './use-lead'

/** How many more events each press of "Show older" shows. */
const STEP = 25

const KINDS: [value: ListName, label: string][] = [
  ['notes', 'Notes'],
  ['history', 'Changes'],
  ['appointments', 'Appointments'],
  ['callbacks', 'Callbacks'],
  ['files', 'Files'],
  ['deliveries', 'Deliveries'],
]

const ALL = KINDS.map(([kind]) => kind)

/** The events of a lead, newest first, with the form for a new note on top. */
export const Timeline = ({ page }: { page: LeadPage }) => {
  const [kind, setKind] = useState<ListName>()
  const [count, setCount] = useState(STEP)
  const { events, incomplete } = listEvents(kind ? [kind] : ALL, page)
  const showOlder = async () => {
    if (count >= events.length && incomplete) await page.loadOlder(incomplete)
    setCount(count + STEP)
  }
  const choose = (value: string) => {
    setKind((value || undefined) as ListName | undefined)
    setCount(STEP)
  }
  const kinds = page.shown.endpoints ? KINDS : KINDS.filter(([one]) => one !== 'deliveries')
  return (
    <>
      {page.mayEdit && <AddNote page={page} />}
      <div class="heading">
        <Field name="timeline-kind" label="Show">
          {(attributes) => (
            <select {...attributes} onChange={(event) => choose(event.currentTarget.value)}>
              <Options options={[['', 'Everything'], ...kinds]} chosen={kind ?? ''} />
            </select>
          )}
        </Field>
        {page.mayBook && <AddFile page={page} />}
      </div>
      {events.length === 0 && !incomplete && <p class="none">Nothing yet</p>}
      <ol class="events" aria-label="Timeline, newest first">
        {events.slice(0, count).map(({ key, kind, at, title, content }) => (
          <li key={key} class={kind}>
            <p class="event-title">
              <span class="wrap">{title}</span> <Ago at={at} />
            </p>
            {content}
          </li>
        ))}
      </ol>
      {(events.length > count || incomplete) && (
        <div class="paging">
          <Action label="Show older" quiet run={showOlder} />
        </div>
      )}
    </>
  )
}
