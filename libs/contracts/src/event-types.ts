/** Of leads: in the log of their account. In the order in which they are listed. */
export const LEAD_EVENT_TYPES = [
  'lead.created',
  'lead.updated',
  'appointment.scheduled',
  'callback.scheduled',
  'attachment.added',
  'lead.erased',
  'appointment.rescheduled',
  'appointment.cancelled',
  'callback.rescheduled',
  'callback.cancelled',
  'lead.duplicate_suspected',
] as const

/** About webhook endpoints: in no log, and never sent to the endpoint that they are about. */
export const ENDPOINT_EVENT_TYPES = [
  'endpoint.failing',
  'endpoint.disabled',
  'endpoint.recovered',
  'delivery.exhausted',
] as const

export const EVENT_TYPES = [...LEAD_EVENT_TYPES, ...ENDPOINT_EVENT_TYPES] as const

export type LeadEventType = (typeof LEAD_EVENT_TYPES)[number]

export type EndpointEventType = (typeof ENDPOINT_EVENT_TYPES)[number]

export type EventType = (typeof EVENT_TYPES)[number]

/** Of which leads an endpoint can receive events. */
export const ENDPOINT_LEADS = ['all', 'live', 'test'] as const

/** Optional parts of the webhook bodies of an endpoint. */
export const ENDPOINT_INCLUDES = ['attributes'] as const

export const ATTEMPT_ERRORS = [
  'timeout',
  'refused',
  'unreachable',
  'reset',
  'dns',
  'tls',
  'blocked',
  'protocol',
  'network',
  'proxy',
  'http_status',
  'smtp_status',
  'unsendable',
  'unconfirmed',
] as const

export type AttemptError = (typeof ATTEMPT_ERRORS)[number]
