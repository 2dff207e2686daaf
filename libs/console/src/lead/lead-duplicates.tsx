import { useEffect, useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { api, leadsApi } from '../api'
import { type Lead, nameLead } from '../leads'
import { Action } from '../parts/action'
import { showNotice } from '../parts/notices'
import { Table } from '../parts/table'
import { Ago } from '../parts/time'
import type { ShownLead, Suspect } from './load-lead'

const REASONS: Record<Suspect['reasons'][number], string> = {
  email: 'e-mail',
  phone: 'phone',
  name_postcode: 'name and postcode',
}

/** A link to a lead with its name and age. Shows the reference until the lead is loaded. */
const LeadLink = ({ reference }: { reference: string }) => {
  const [lead, setLead] = useState<Lead>()
  useEffect(() => {
    leadsApi()
      .retrieve(reference)
      .then(setLead, () => undefined)
  }, [reference])
  return (
    <span class="wrap">
      <Link href={`/leads/${reference}`}>{lead ? nameLead(lead) : reference}</Link>{' '}
      {lead && <Ago at={lead.created_at} />}
    </span>
  )
}

interface Given {
  shown: ShownLead
  /** Whether the user may mark the lead as a duplicate. */
  canMark: boolean
  refresh: () => Promise<void>
}

/** The original of a duplicate lead, and the leads that are suspected duplicates. */
export const LeadDuplicates = ({ shown: { managedLead, suspects }, canMark, refresh }: Given) => {
  const { reference: own, duplicate_of: original } = managedLead
  const mark = async (reference: string | null) => {
    const params = { path: { reference: own } }
    await api().POST('/manage/leads/{reference}/duplicate-of', { params, body: { reference } })
    showNotice(
      reference ? 'The lead is marked as a duplicate.' : 'The lead is no longer marked as a duplicate.',
    )
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
              name: 'Same',
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
          getKey={({ reference }) => reference}
        />
      )}
    </>
  )
}
