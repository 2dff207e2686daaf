import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { nameLead } from '../leads'
import { Action } from '../parts/action'
import { Badge } from '../parts/badge'
import { Field } from '../parts/form'
import { formatCallUrl, formatUkField, formatUkInstant, LAST_MINUTE } from '../parts/format'
import { showNotice } from '../parts/notices'
import { KIND_LABELS, markDone, moveEntry, type ScheduleEntry } from '../schedule'
import { findUkDay } from './days'

/** The number of entries that are shown at first. */
const SHOWN = 8

const DueBadge = ({ date, now }: { date: string; now: number }) => {
  const at = Date.parse(date)
  if (at < now) return <Badge word="Overdue" tone="bad" />
  return findUkDay(at) === findUkDay(now) ? <Badge word="Today" tone="warn" /> : null
}

const Call = ({ number }: { number: string | null }) =>
  number ? (
    <a href={formatCallUrl(number)} aria-label={`Call ${number}`}>
      {number}
    </a>
  ) : null

const EntryActions = ({ entry, refresh }: { entry: ScheduleEntry; refresh: () => Promise<void> }) => {
  const one = `${entry.kind} with ${entry.customer.name || nameLead(entry.lead)}`
  const finish = async () => {
    await markDone(entry)
    showNotice(`The ${one} is done.`)
    await refresh()
  }
  const move = async (fields: FormData) => {
    await moveEntry(entry, String(fields.get('date')))
    showNotice(`The ${one} was moved.`)
    await refresh()
  }
  return (
    <span class="actions">
      <Action label="Done" quiet run={finish} />
      <Action
        label="Move"
        quiet
        run={move}
        question={{
          title: `Move the ${one}`,
          yes: 'Save',
          names: ['date'],
          content: (errors) => (
            <Field name="date" label="Date and time in the United Kingdom" errors={errors}>
              {(attributes) => (
                <input
                  type="datetime-local"
                  required
                  max={LAST_MINUTE}
                  defaultValue={formatUkField(entry.date)}
                  {...attributes}
                />
              )}
            </Field>
          ),
        }}
      />
    </span>
  )
}

interface MyScheduleProps {
  title: string
  entries: ScheduleEntry[]
  hasMore: boolean
  now: number
  mayChange: boolean
  /** Whether to show the user of each entry. */
  showsUsers: boolean
  refresh: () => Promise<void>
}

/** The open callbacks and appointments, earliest first, so that overdue ones are on top. */
export const MySchedule = (props: MyScheduleProps) => {
  const { title, entries, hasMore, now, mayChange, showsUsers, refresh } = props
  const [showsAll, setShowsAll] = useState(false)
  const shown = showsAll ? entries : entries.slice(0, SHOWN)
  const hidden = entries.length - shown.length
  return (
    <section class="card padded" aria-labelledby="schedule">
      <h2 id="schedule">{title}</h2>
      {entries.length === 0 && !hasMore && <p class="faint">Nothing is due.</p>}
      <ol class="agenda">
        {shown.map((entry) => (
          <li key={`${entry.kind}-${entry.id}`}>
            <div class="agenda-when">
              <time dateTime={entry.date}>{formatUkInstant(entry.date)}</time>
              <DueBadge date={entry.date} now={now} />
            </div>
            <div class="agenda-what">
              <span>
                {`${KIND_LABELS[entry.kind]} · `}
                <Link href={`/leads/${entry.lead_reference}`}>{nameLead(entry.lead)}</Link>
              </span>
              <span class="agenda-who">
                <span>{entry.customer.name}</span>
                <Call number={entry.customer.phone} />
                <Call number={entry.customer.mobile} />
                {showsUsers && <span class="faint">{entry.user.name}</span>}
              </span>
            </div>
            {mayChange && <EntryActions entry={entry} refresh={refresh} />}
          </li>
        ))}
      </ol>
      {hidden > 0 && (
        <div class="actions">
          <button type="button" class="quiet" onClick={() => setShowsAll(true)}>
            {`Show ${hidden} more`}
          </button>
        </div>
      )}
      {hidden === 0 && hasMore && (
        <p class="faint">{`These are the first ${shown.length}. Later ones appear when these are done.`}</p>
      )}
    </section>
  )
}
