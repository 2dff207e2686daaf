export * from './email-form'
export * from './endpoint-filter'
export * from './event-types'
export * from './files'
export { DESCRIPTORS } from './generated/descriptors'
export { Status } from './generated/google/rpc/status'
export { HealthCheckResponse_ServingStatus, HealthDefinition } from './generated/grpc/health/v1/health'
export * from './generated/leadwire/accounts/v1/accounts_service'
export { Actor } from './generated/leadwire/accounts/v1/actor'
export * from './generated/leadwire/audit/v1/audit_service'
export * from './generated/leadwire/events/v1/event'
export * from './generated/leadwire/events/v1/notification_requested'
export * from './generated/leadwire/leads/v1/attachments_service'
export * from './generated/leadwire/leads/v1/figures_service'
export * from './generated/leadwire/leads/v1/imports_service'
// Every generated file with a streaming method exports this type. Without this explicit export, the names
// would conflict.
export type { ServerStreamingMethodResult } from './generated/leadwire/leads/v1/leads_service'
export * from './generated/leadwire/leads/v1/leads_service'
export * from './generated/leadwire/leads/v1/reconciliation_service'
export * from './generated/leadwire/webhooks/v1/webhooks_service'
export * from './import-columns'
export * from './lead-json'
export {
  type AttributeValue,
  Customer,
  Image,
  Lead,
  LeadListItem,
  ListedCustomer,
  ManagedFields,
  Quote,
  QuoteItem,
} from './lead-records'
export * from './lead-values'
export * from './postcode'
export * from './roles'
export { buildExampleRecord, type Field, listFields } from './schema-fields'
export * from './scopes'
export * from './streams'
export * from './text'
