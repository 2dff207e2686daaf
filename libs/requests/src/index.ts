export * from './schemas/accounts'
export * from './schemas/capture-form'
export * from './schemas/create-lead'
export * from './schemas/create-token'
export * from './schemas/deliveries'
export * from './schemas/endpoint-care'
export * from './schemas/users'
export * from './schemas/webhook-endpoints'
export * from './validation/check-fields'
export * from './validation/cursor'
export { addDays, countDays, findToday } from './validation/dates'
export * from './validation/fields'
export { FORMATS } from './validation/formats'
export {
  findDays,
  isInstant,
  parseLocalInstant,
  readPastInstant,
  truncateInstant,
} from './validation/instants'
export { describeUnknown, labelField } from './validation/messages'
