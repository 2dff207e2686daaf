export { ATTEMPT_ERRORS, type AttemptError } from './attempt-errors'
export { isEmail } from './email'
export { ENDPOINT_LEADS, EVENT_TYPES, type EventType, eventBody } from './event-types'
export { FILE_FORMATS, type FileFormat, IMAGE_FORMATS } from './file-formats'
export type { UploadedFile, UploadTerms } from './files'
export { DESCRIPTORS } from './generated/descriptors'
export { Status } from './generated/google/rpc/status'
export { HealthCheckResponse_ServingStatus, HealthDefinition } from './generated/grpc/health/v1/health'
export * from './generated/leadwire/accounts/v1/accounts_service'
export { Actor } from './generated/leadwire/accounts/v1/actor'
export * from './generated/leadwire/audit/v1/audit_service'
export * from './generated/leadwire/events/v1/event'
export * from './generated/leadwire/events/v1/notification_requested'
export * from './generated/leadwire/leads/v1/attachments_service'
export * from './generated/leadwire/leads/v1/imports_service'
// Each generated file with a stream has the same one.
export type { ServerStreamingMethodResult } from './generated/leadwire/leads/v1/leads_service'
export * from './generated/leadwire/leads/v1/leads_service'
export * from './generated/leadwire/leads/v1/reconciliation_service'
export * from './generated/leadwire/webhooks/v1/webhooks_service'
export { leadCost } from './lead-cost'
export { leadJsonFormat, SEARCH_FORMAT } from './lead-format'
export { imageJson, leadDetailsJson, leadItemJson, leadJson } from './lead-json'
export { Customer, Image, Lead, LeadListItem, Quote, QuoteItem } from './lead-records'
export { LEAD_REFERRERS, LEAD_STATUSES, VISITOR_REFERRERS } from './lead-values'
export { isInvisible, isOneLine, manyLines, oneLine } from './one-line'
export { POSTCODE } from './postcode'
export { type Field, fieldsOf } from './schema-fields'
export {
  eventIdOf,
  LEADS_STREAM,
  LEADS_STREAM_CONFIG,
  leadsStreamConfig,
  messageIdOf,
  NOTIFICATION_CONSUMER,
  WEBHOOK_CONSUMER,
} from './streams'
