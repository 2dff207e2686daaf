import { oneOf, text } from '../validation/fields'
import { DELIVERY_STATUSES } from './delivery-schema'

export const DELIVERY_FILTERS = {
  status: oneOf(DELIVERY_STATUSES, 'Only those in this state.', 'pending'),
  lead_reference: text('Only those of this lead.', '0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10', {
    format: 'uuid',
  }),
}
