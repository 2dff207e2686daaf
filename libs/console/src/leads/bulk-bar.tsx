import { useState } from 'preact/hooks'
import { STATUS_LABELS, type Status } from '../leads'
import { Field, IdPrefix, Options, useForm } from '../parts/form'
import { formatCount } from '../parts/format'
import { showNotice } from '../parts/notices'
import type { User } from '../users'
import { type Outcome, updateLeads } from './managed-leads'
import { UNASSIGNED } from './queue-filters'
import type { Selection } from './use-selection'

const NO_CHANGE: [string, string] = ['', 'No change']

/** Reads the chosen values of the form. An empty object: nothing is chosen. */
const readChange = (fields: FormData) => {
  const [status, owner] = ['status', 'user_id'].map((name) => String(fields.get(name) ?? ''))
  return {
    ...(status && { status: status as Status }),
    ...(owner && { user_id: owner === UNASSIGNED ? null : Number(owner) }),
  }
}

/** A lead that was not changed, and why. */
interface Failed {
  lead: string
  because: string
}

const describeOutcomes = (outcomes: Outcome[]): string => {
  const changed = outcomes.filter(({ updated }) => updated).length
  const same = outcomes.filter(({ updated }) => updated === false).length
  const rest = same > 0 ? ` ${formatCount(same, 'lead')} had these values already.` : ''
  return `${formatCount(changed, 'lead')} changed.${rest}`
}

const Failures = ({ failed, dismiss }: { failed: Failed[]; dismiss: () => void }) => (
  <div role="alert" class="part">
    <p class="error">{`${formatCount(failed.length, 'lead')} could not be changed:`}</p>
    <ul class="failures">
      {failed.map(({ lead, because }) => (
        <li key={lead}>{`${lead}: ${because}`}</li>
      ))}
    </ul>
    <div>
      <button type="button" class="quiet" onClick={dismiss}>
        Dismiss
      </button>
    </div>
  </div>
)

interface BulkBarProps {
  selection: Selection
  /** Undefined if the user may not list users. The owner cannot be changed then. */
  users: User[] | undefined
  refresh: () => Promise<void>
}

/** A form that changes status and owner of all selected leads. Leads that cannot be changed stay selected. */
export const BulkBar = ({ selection, users, refresh }: BulkBarProps) => {
  const { selected, keepOnly } = selection
  const [failed, setFailed] = useState<Failed[]>([])
  const [sent, setSent] = useState(0)
  const apply = async (fields: FormData) => {
    const change = readChange(fields)
    if (Object.keys(change).length === 0) return showNotice('Choose a status or an owner first.')
    const outcomes = await updateLeads([...selected.keys()], change)
    const refused = outcomes.filter(({ errors }) => errors)
    setFailed(
      refused.map(({ reference, errors = {} }) => ({
        lead: selected.get(reference) ?? reference,
        because: Object.values(errors).flat().join(' '),
      })),
    )
    keepOnly(refused.map(({ reference }) => reference))
    showNotice(describeOutcomes(outcomes))
    // Renders new fields, so that the next change starts without values.
    setSent(sent + 1)
    await refresh()
  }
  const form = useForm(apply, ['status', 'user_id'])
  if (selected.size === 0 && failed.length === 0) return null
  return (
    <section class="card padded bulk" aria-label="Change the selected leads">
      {failed.length > 0 && <Failures failed={failed} dismiss={() => setFailed([])} />}
      {selected.size > 0 && (
        <form key={sent} aria-busy={form.isBusy} onSubmit={form.onSubmit}>
          <div class="fields">
            <p class="outcome">{`${formatCount(selected.size, 'lead')} selected`}</p>
            <IdPrefix.Provider value="bulk-">
              <Field name="status" label="New status" errors={form.errors}>
                {(attributes) => (
                  <select {...attributes}>
                    <Options options={[NO_CHANGE, ...Object.entries(STATUS_LABELS)]} />
                  </select>
                )}
              </Field>
              {users && (
                <Field name="user_id" label="New owner" errors={form.errors}>
                  {(attributes) => (
                    <select {...attributes}>
                      <Options
                        options={[
                          NO_CHANGE,
                          [UNASSIGNED, 'Unassigned'],
                          ...users.map(({ id, name }): [string, string] => [String(id), name]),
                        ]}
                      />
                    </select>
                  )}
                </Field>
              )}
            </IdPrefix.Provider>
            <button type="submit">Apply</button>
            <button type="button" class="quiet" onClick={() => keepOnly([])}>
              Clear selection
            </button>
          </div>
          {form.failure}
        </form>
      )}
    </section>
  )
}
