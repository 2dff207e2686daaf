import { useEffect, useState } from 'preact/hooks'
import { isErased } from '../leads'
import { describeLead, type ManagedLead } from './managed-leads'

/** The maximum number of leads of a change in bulk. */
export const MAX_SELECTED = 100

/** Returns whether a lead can be changed in bulk. An erased lead can't be changed. */
export const isSelectable = (lead: ManagedLead): boolean => !isErased(lead)

export interface Selection {
  /** The descriptions of the selected leads, by reference. */
  selected: ReadonlyMap<string, string>
  has: (reference: string) => boolean
  toggle: (lead: ManagedLead) => void
  /** Selects all of the leads that can be changed. Deselects them if all are selected. */
  toggleAll: (leads: ManagedLead[]) => void
  /** Keeps only these leads selected. */
  keepOnly: (references: string[]) => void
}

/** Returns the selected leads. The selection survives a change of the page, and ends with other filters. */
export const useSelection = (filters: string): Selection => {
  const [selected, setSelected] = useState<ReadonlyMap<string, string>>(new Map())
  useEffect(() => setSelected(new Map()), [filters])
  const change = (leads: ManagedLead[], isSelected: boolean) =>
    setSelected((before) => {
      const next = new Map(before)
      for (const lead of leads) {
        if (!isSelected) next.delete(lead.reference)
        else if (next.size < MAX_SELECTED && isSelectable(lead)) next.set(lead.reference, describeLead(lead))
      }
      return next
    })
  const has = (reference: string) => selected.has(reference)
  return {
    selected,
    has,
    toggle: (lead) => change([lead], !has(lead.reference)),
    toggleAll: (leads) => change(leads, !leads.filter(isSelectable).every(({ reference }) => has(reference))),
    keepOnly: (references) =>
      setSelected((before) => new Map([...before].filter(([reference]) => references.includes(reference)))),
  }
}
