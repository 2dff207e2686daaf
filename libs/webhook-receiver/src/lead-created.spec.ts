import { Customer, Image, LeadListItem, Quote, QuoteItem } from '@leadwire/contracts'
import type { Static } from '@sinclair/typebox'
import type * as receiver from './lead-created'

type Same<A, B> = [A, B] extends [B, A] ? true : never

// The compiler checks these types. If a field is missing on one side or has another type, the
// compilation fails.
const SAME: Record<string, true> = {
  lead: true satisfies Same<Static<typeof LeadListItem>, Omit<receiver.Lead, 'customer' | 'quotes'>>,
  customer: true satisfies Same<Static<typeof Customer>, receiver.Customer>,
  image: true satisfies Same<Static<typeof Image>, receiver.Image>,
  quote: true satisfies Same<Omit<Static<typeof Quote>, 'items'>, Omit<receiver.Quote, 'items'>>,
  item: true satisfies Same<
    Omit<Static<typeof QuoteItem>, 'image' | 'product_style' | 'options'>,
    Omit<receiver.QuoteItem, 'image' | 'options'>
  >,
}

test('the types of a payload are those of the records', () => {
  expect(Object.keys(SAME)).toHaveLength([LeadListItem, Customer, Image, Quote, QuoteItem].length)
})
