import { Link } from 'wouter-preact'
import { isErased, nameLead } from '../leads'
import type { HistoryEntry } from './load-lead'
import { useOtherLead } from './other-lead'

const Original = ({ reference }: { reference: string }) => {
  const lead = useOtherLead(reference)
  const isNamed = lead && !isErased(lead)
  const name = isNamed ? `${lead.customer.name}: ${lead.name}` : nameLead({ name: '', reference })
  return <Link href={`/leads/${reference}`}>{lead ? name : reference}</Link>
}

const renderOriginal = (value: unknown) =>
  typeof value === 'string' ? <Original key={value} reference={value} /> : 'none'

/** A change of the original of a duplicate lead in the history. Names the original with a link. */
export const DuplicateChange = ({ from, to }: HistoryEntry['changes'][number]) => {
  // An erasure removes the values.
  if (from === null && to === null) return <>Duplicate of changed</>
  return (
    <>
      {'Duplicate of: '}
      {renderOriginal(from)}
      {' → '}
      {renderOriginal(to)}
    </>
  )
}
