import type { Image, Lead, LeadCreated, Timestamp } from './lead-created'

export interface LeadUpdated {
  type: 'lead.updated'
  /** The lead after the change, without its customer and quotes. */
  data: Omit<Lead, 'customer' | 'quotes'> & { changes: FieldChange[] }
}

/** What a field was and what it became. Of `user` either is null or has `id` and `email`. */
export interface FieldChange {
  field: string
  from: unknown
  to: unknown
}

export interface AppointmentScheduled {
  type: 'appointment.scheduled'
  data: Scheduled
}

export interface CallbackScheduled {
  type: 'callback.scheduled'
  data: Scheduled
}

export interface Scheduled {
  id: number
  lead_reference: string
  user_id: number
  /** When it is to take place. */
  date: Timestamp
  notify: boolean
  created_at: Timestamp
}

/** The date or the user of an appointment or a callback became another one. */
export interface EntryRescheduled {
  type: 'appointment.rescheduled' | 'callback.rescheduled'
  data: Scheduled & { cancelled_at: null }
}

export interface EntryCancelled {
  type: 'appointment.cancelled' | 'callback.cancelled'
  data: Scheduled & { cancelled_at: Timestamp }
}

/** A file was attached to a lead. Its `url` needs a bearer token. */
export interface AttachmentAdded {
  type: 'attachment.added'
  data: Image & { lead_reference: string }
}

/** The personal data of a lead was erased. It is the last event of the lead: delete what you keep of it. */
export interface LeadErased {
  type: 'lead.erased'
  data: { reference: string }
}

/** A lead was created, and earlier ones seem to be of the same person: the newest 20, newest first. */
export interface LeadDuplicateSuspected {
  type: 'lead.duplicate_suspected'
  data: {
    reference: string
    suspects: { reference: string; reasons: ('email' | 'phone' | 'name_postcode')[] }[]
  }
}

/** The endpoint that an event is about: never the one that receives it. */
export interface ReportedEndpoint {
  id: number
  host: string
  description: string | null
}

/** Three attempts of a delivery failed, and none of the endpoint's succeeded since the first. */
export interface EndpointFailing {
  type: 'endpoint.failing'
  data: { endpoint: ReportedEndpoint; since: Timestamp }
}

/** It was disabled because it only failed. */
export interface EndpointDisabled {
  type: 'endpoint.disabled'
  data: { endpoint: ReportedEndpoint; since: Timestamp; disabled_at: Timestamp }
}

export interface EndpointRecovered {
  type: 'endpoint.recovered'
  data: { endpoint: ReportedEndpoint; since: Timestamp; recovered_at: Timestamp }
}

/** `count` deliveries were given up since the event before. */
export interface DeliveryExhausted {
  type: 'delivery.exhausted'
  data: { endpoint: ReportedEndpoint; since: Timestamp; count: number; last_delivery_id: number }
}

/** What an endpoint may subscribe to. Lead Created alone has no `type`. */
export type WebhookEvent =
  | LeadCreated
  | LeadUpdated
  | AppointmentScheduled
  | CallbackScheduled
  | AttachmentAdded
  | LeadErased
  | EndpointFailing
  | EndpointDisabled
  | EndpointRecovered
  | DeliveryExhausted
  | EntryRescheduled
  | EntryCancelled
  | LeadDuplicateSuspected
