import { Action } from '../parts/action'
import { Badge } from '../parts/badge'
import { formatUkInstant } from '../parts/format'
import { showNotice } from '../parts/notices'
import { cancelEntry, markDone, moveEntry } from '../schedule'
import { Notify, useEntryQuestion } from './entry-fields'
import { nameUser } from './lead-values'
import type { Scheduled } from './load-lead'
import type { LeadPage } from './use-lead'

interface EntryProps {
  entry: Scheduled
  page: LeadPage
}

const MarkDone = ({ entry, page }: EntryProps) => {
  const finish = async () => {
    await markDone(entry)
    showNotice(`The ${entry.kind} is done.`)
    await page.refresh()
  }
  return <Action label="Done" quiet run={finish} />
}

const Move = ({ entry, page }: EntryProps) => {
  const title = `Move the ${entry.kind} of ${formatUkInstant(entry.date)}`
  const { question, readFields } = useEntryQuestion({ page, entry, title, yes: ['Move', 'Move anyway'] })
  const move = async (fields: FormData) => {
    const { date, ...more } = readFields(fields)
    await moveEntry(entry, date, more)
    showNotice(`The ${entry.kind} was moved.`)
    await page.refresh()
  }
  return <Action label="Move" quiet run={move} question={question} />
}

const Cancel = ({ entry, page }: EntryProps) => {
  const cancel = async (fields: FormData) => {
    await cancelEntry(entry, { notify: fields.has('notify') })
    showNotice(`The ${entry.kind} was cancelled.`)
    await page.refresh()
  }
  const question = {
    title: `Cancel the ${entry.kind} of ${formatUkInstant(entry.date)}?`,
    yes: `Cancel the ${entry.kind}`,
    names: ['notify'],
    content: (
      <>
        <p>This can't be undone.</p>
        <Notify />
      </>
    ),
  }
  return <Action label="Cancel" quiet danger run={cancel} question={question} />
}

const isOverdue = ({ date }: Scheduled): boolean => Date.parse(date) < Date.now()

/** An appointment or a callback that is neither done nor cancelled, with its actions. */
export const OpenEntry = ({ entry, page }: EntryProps) => (
  <li class="part">
    <p>
      <strong>{entry.kind === 'appointment' ? 'Appointment' : 'Callback'}</strong>{' '}
      {isOverdue(entry) && <Badge word="Overdue" tone="bad" />}
      <span class="line">
        <time dateTime={entry.date}>{formatUkInstant(entry.date)}</time>
        {`, ${nameUser(page.shown.users, entry.user_id)}`}
      </span>
    </p>
    {page.mayBook && (
      <div class="actions">
        <MarkDone entry={entry} page={page} />
        <Move entry={entry} page={page} />
        <Cancel entry={entry} page={page} />
      </div>
    )}
  </li>
)
