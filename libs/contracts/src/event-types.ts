/** In the order in which they are listed. */
export const EVENT_TYPES = [
  'lead.created',
  'lead.updated',
  'appointment.scheduled',
  'callback.scheduled',
  'attachment.added',
  'lead.erased',
] as const

export type EventType = (typeof EVENT_TYPES)[number]

/** Of which leads an endpoint can receive events. */
export const ENDPOINT_LEADS = ['all', 'live', 'test'] as const

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
  'http_status',
  'smtp_status',
  'unsendable',
  'unconfirmed',
] as const

export type AttemptError = (typeof ATTEMPT_ERRORS)[number]
