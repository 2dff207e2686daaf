import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { api } from '../api'
import { nameLead } from '../leads'
import { Action } from '../parts/action'
import { showNotice } from '../parts/notices'
import { Ago } from '../parts/time'
import { CompareLeads } from './compare-leads'
import type { ManagedLead, Suspect } from './load-lead'
import { useOtherLead } from './other-lead'
import type { LeadPage } from './use-lead'

/** How many suspects are compared before the user asks for all of them. */
const FIRST = 3

const REASONS: Record<Suspect['reasons'][number], string> = {
  email: 'e-mail',
  phone: 'telephone',
  name_postcode: 'name and postcode',
}

const LeadLink = ({ reference, lead }: { reference: string; lead: ManagedLead | undefined }) => (
  <span class="wrap">
    <Link href={`/leads/${reference}`}>{lead ? nameLead(lead) : reference}</Link>{' '}
    {lead && <Ago at={lead.created_at} />}
  </span>
)

type Mark = (reference: string | null) => Promise<void>

const Original = ({ reference, mark }: { reference: string; mark: Mark | undefined }) => (
  <div class="part">
    <p>
      {'Duplicate of '}
      <LeadLink reference={reference} lead={useOtherLead(reference)} />
    </p>
    {mark && (
      <div class="actions">
        <Action label="Not a duplicate" quiet run={() => mark(null)} />
      </div>
    )}
  </div>
)

const ComparedSuspect = ({
  suspect: { reference, reasons },
  lead,
  mark,
}: {
  suspect: Suspect
  lead: ManagedLead
  mark: Mark | undefined
}) => {
  const other = useOtherLead(reference)
  return (
    <li class="part">
      <p>
        <LeadLink reference={reference} lead={other} />
        <span class="line faint">{`Same ${reasons.map((reason) => REASONS[reason]).join(', ')}`}</span>
      </p>
      {other && <CompareLeads lead={lead} other={other} reasons={reasons} />}
      {mark && (
        <div class="actions">
          <Action label="Mark as duplicate of this" quiet run={() => mark(reference)} />
        </div>
      )}
    </li>
  )
}

/** The original of a duplicate lead, and the leads that are suspected duplicates, side by side. */
export const LeadDuplicates = ({ page }: { page: LeadPage }) => {
  const [showsAll, setShowsAll] = useState(false)
  const { lead, mayEdit, refresh } = page
  const { reference: own, duplicate_of: original } = lead
  const suspects = page.shown.suspects.filter(({ reference }) => reference !== original)
  if (!original && suspects.length === 0) return null
  const markAs: Mark = async (reference) => {
    const params = { path: { reference: own } }
    await api().POST('/manage/leads/{reference}/duplicate-of', { params, body: { reference } })
    showNotice(
      reference ? 'The lead is marked as a duplicate.' : 'The lead is no longer marked as a duplicate.',
    )
    await refresh()
  }
  const mark = mayEdit ? markAs : undefined
  return (
    <section class="card padded" aria-labelledby="lead-duplicates">
      <h2 id="lead-duplicates">Duplicates</h2>
      {original && <Original key={original} reference={original} mark={mark} />}
      {suspects.length > 0 && (
        <ul class="entries" aria-label="Suspected duplicates, newest first">
          {(showsAll ? suspects : suspects.slice(0, FIRST)).map((suspect) => (
            <ComparedSuspect key={suspect.reference} suspect={suspect} lead={lead} mark={mark} />
          ))}
        </ul>
      )}
      {suspects.length > FIRST && !showsAll && (
        <button type="button" class="quiet" onClick={() => setShowsAll(true)}>
          {`Show all ${suspects.length}`}
        </button>
      )}
    </section>
  )
}
