/** Why an attempt of a delivery or a notification failed, as its record says it. */
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
