import { Badge } from '../parts/badge'
import { formatCallUrl, formatUkInstant } from '../parts/format'
import { KIND_LABELS } from '../schedule'
import type { ManagedLead } from './managed-leads'

/** The next appointment or callback of a lead, marked if its date has passed. */
export const NextAction = ({ next }: Pick<ManagedLead, 'next'>) => {
  if (!next) return <span class="none">–</span>
  const isOverdue = Date.parse(next.date) < Date.now()
  return (
    <span class="next-action">
      {`${KIND_LABELS[next.kind]} `}
      <time dateTime={next.date}>{formatUkInstant(next.date)}</time>{' '}
      {isOverdue && <Badge word="Overdue" tone="bad" />}
    </span>
  )
}

/** A link that calls the customer. */
export const Telephone = ({ customer: { phone, mobile } }: Pick<ManagedLead, 'customer'>) => {
  const number = phone || mobile
  if (!number) return <span class="none">–</span>
  return <a href={formatCallUrl(number)}>{number}</a>
}
