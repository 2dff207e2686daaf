import { useEffect, useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { api, leadsApi } from '../api'
import { type Lead, nameOf } from '../leads'
import { Action } from '../parts/action'
import { say } from '../parts/notices'
import { Table } from '../parts/table'
import { Ago } from '../parts/time'
import type { ShownLead, Suspect } from './load-lead'

const REASONS: Record<Suspect['reasons'][number], string> = {
  email: 'e-mail',
  phone: 'phone',
  name_postcode: 'name and postcode',
}

/** A lead by its name and age, or until it is loaded by its reference. */
const LeadLink = ({ reference }: { reference: string }) => {
  const [lead, setLead] = useState<Lead>()
  useEffect(() => {
    leadsApi()
      .retrieve(reference)
      .then(setLead, () => undefined)
  }, [reference])
  return (
    <span class="wrap">
      <Link href={`/leads/${reference}`}>{lead ? nameOf(lead) : reference}</Link>{' '}
      {lead && <Ago at={lead.created_at} />}
    </span>
  )
}

interface Given {
  managed: NonNullable<ShownLead['managed']>
  /** Whether the token may mark it. */
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
  return (
    <>
      <h2>Duplicates</h2>
      {original && (
        <p>
          Duplicate of <LeadLink reference={original} />{' '}
          {canMark && <Action label="Not a duplicate" quiet run={() => mark(null)} />}
        </p>
      )}
      {!original && suspects.length === 0 && <p class="none">None</p>}
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
