import type { ComponentChildren } from 'preact'
import { chooseTone, isErased, nameLead, STATUS_LABELS } from '../leads'
import { Badge } from '../parts/badge'
import { Title } from '../parts/page'
import type { ManagedLead } from './load-lead'

/** The head of a lead's page: the customer, the job and the status. */
export const LeadTitle = ({ lead, actions }: { lead: ManagedLead; actions: ComponentChildren }) => {
  const job = nameLead(lead)
  const title = isErased(lead) ? job : `${lead.customer.name}: ${job}`
  return (
    <Title title={title} from={['Leads', '/leads']} actions={actions}>
      {`${title} `}
      <Badge word={STATUS_LABELS[lead.status]} tone={chooseTone(lead.status)} />{' '}
      {lead.test === 1 && <Badge word="Test lead" tone="held" />}
    </Title>
  )
}
