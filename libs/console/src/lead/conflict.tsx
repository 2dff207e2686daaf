import { listDifferences } from './lead-values'
import type { ManagedLead } from './load-lead'

/** Shows what others have changed in a lead while the user was editing it. */
export const Conflict = ({ before, now }: { before: ManagedLead; now: ManagedLead }) => {
  const differences = listDifferences(before, now)
  return (
    <div class="conflict" role="alert">
      <p>The lead has changed since you began to edit. Nothing was saved yet.</p>
      {differences.length === 0 ? (
        <p>The change was to its quotes, appointments or callbacks.</p>
      ) : (
        <ul>
          {differences.map(({ label, from, to }) => (
            <li key={label}>{`${label}: ${from} → ${to}`}</li>
          ))}
        </ul>
      )}
    </div>
  )
}
