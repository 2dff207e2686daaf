import { Link } from 'wouter-preact'
import { api } from '../api'
import { Action } from '../parts/action'
import { say } from '../parts/notices'
import { Table } from '../parts/table'
import type { ShownLead, Suspect } from './load-lead'

const REASONS: Record<Suspect['reasons'][number], string> = {
  email: 'e-mail',
  phone: 'phone',
  name_postcode: 'name and postcode',
}

const LeadLink = ({ reference }: { reference: string }) => (
  <Link class="mono wrap" href={`/leads/${reference}`}>
    {reference}
  </Link>
)

interface Given {
  managed: NonNullable<ShownLead['managed']>
  /** Whether the token may mark it, and it can be changed. */
  canMark: boolean
  refresh: () => Promise<void>
}

/** The lead that a lead is a duplicate of, and those that it may be one of. */
export const LeadDuplicates = ({ managed: { lead, suspects }, canMark, refresh }: Given) => {
  const { reference: own, duplicate_of: original } = lead
  const mark = async (reference: string | null) => {
    const params = { path: { reference: own } }
    await api().POST('/manage/leads/{reference}/duplicate-of', { params, body: { reference } })
    say(reference ? 'The lead is marked as a duplicate.' : 'The lead is no duplicate any more.')
    await refresh()
  }
  if (!original && suspects.length === 0) return null
  return (
    <>
      <h2>Duplicates</h2>
      {original && (
        <p>
          Duplicate of <LeadLink reference={original} />{' '}
          {canMark && <Action label="Undo" quiet run={() => mark(null)} />}
        </p>
      )}
      {suspects.length > 0 && (
        <Table
          caption="Suspected duplicates, newest first"
          columns={[
            { name: 'Lead', cell: ({ reference }: Suspect) => <LeadLink reference={reference} /> },
            {
              name: 'The same',
              cell: ({ reasons }) => reasons.map((reason) => REASONS[reason]).join(', '),
            },
            {
              name: 'Actions',
              cell: ({ reference }) =>
                canMark && reference !== original ? (
                  <Action label="Mark as duplicate of this" quiet run={() => mark(reference)} />
                ) : (
                  <span class="none">–</span>
                ),
            },
          ]}
          rows={suspects}
          keyOf={({ reference }) => reference}
        />
      )}
    </>
  )
}
