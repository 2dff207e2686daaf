import type { CreateLead } from './generated/leadwire/leads/v1/leads_service'

const CHARACTERS_OF_A_ROW = 1000

/**
 * What it costs to create a lead, in rows: itself, its quotes and items, and one for each thousand characters of the
 * texts that may be long. Batches are bounded by it (see `createBatcher`).
 */
export const leadCost = ({ lead }: CreateLead): number => {
  if (!lead) return 1
  let rows = 1
  let characters = lead.description?.length ?? 0
  for (const { items } of lead.quotes) {
    rows += 1 + items.length
    for (const { options } of items) characters += options.length
  }
  return rows + Math.floor(characters / CHARACTERS_OF_A_ROW)
}
