export { Image, Lead, LeadListItem, Quote, QuoteItem } from '@leadwire/contracts'
