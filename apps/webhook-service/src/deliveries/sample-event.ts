import { type ChangeKind, changeBody, type EventKind, leadItemJson } from '@leadwire/contracts'
import { leadCreatedBody } from '../events/read-lead-created'
import { sampleLead } from './sample-lead'

const memberOf = (json: string, name: string, value: unknown) =>
  `${json.slice(0, -1)},"${name}":${JSON.stringify(value)}}`

/** An event of each kind to try an endpoint with. Like the sample lead's its ids are 0. `now` is an ISO timestamp with six digits. */
export const sampleEvent = (kind: EventKind, now: string): { leadReference: string; body: Buffer } => {
  const lead = sampleLead(now)
  const leadReference = lead.reference
  if (kind === 'lead.created') return { leadReference, body: leadCreatedBody(lead) }
  const updated = memberOf(leadItemJson(lead), 'changes', [
    { field: 'status', from: 'open', to: lead.status },
  ])
  const scheduled = JSON.stringify({
    id: 0,
    lead_reference: leadReference,
    user_id: 0,
    date: now,
    notify: false,
    created_at: now,
  })
  const attached = JSON.stringify({
    id: 0,
    name: 'Sample',
    file_name: 'sample.png',
    file_size: 1234,
    content_type: 'image/png',
    alt: null,
    public: 0,
    processed: 1,
    created_at: now,
    updated_at: now,
    url: 'https://example.com/sample.png',
    lead_reference: leadReference,
  })
  const data: Record<ChangeKind, string> = {
    'lead.updated': updated,
    'appointment.scheduled': scheduled,
    'callback.scheduled': scheduled,
    'attachment.added': attached,
  }
  return { leadReference, body: changeBody(kind, data[kind]) }
}
