import { BookEntry } from './book-entry'
import type { Scheduled } from './load-lead'
import { OpenEntry } from './open-entry'
import type { LeadPage } from './use-lead'

const isOpen = ({ done_at, cancelled_at }: Scheduled): boolean => done_at === null && cancelled_at === null

/** The open appointments and callbacks of a lead, the earliest first, with the buttons to book others. */
export const NextAction = ({ page }: { page: LeadPage }) => {
  const { appointments, callbacks } = page.shown.lists
  const entries = [...appointments.rows, ...callbacks.rows]
    .filter(isOpen)
    .toSorted((a, b) => a.date.localeCompare(b.date))
  return (
    <section class="card padded" aria-labelledby="next-action">
      <h2 id="next-action">Next action</h2>
      {entries.length === 0 ? (
        <p class="none">No appointment and no callback</p>
      ) : (
        <ul class="entries">
          {entries.map((entry) => (
            <OpenEntry key={`${entry.kind}-${entry.id}`} entry={entry} page={page} />
          ))}
        </ul>
      )}
      {page.mayBook && (
        <div class="actions">
          <BookEntry kind="appointment" page={page} />
          <BookEntry kind="callback" page={page} />
        </div>
      )}
    </section>
  )
}
