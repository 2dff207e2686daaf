import { useEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { areSingleKeysOn } from '../parts/single-keys'
import { renderLinkId } from './lead-table'
import type { ManagedLead } from './managed-leads'
import type { Selection } from './use-selection'

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof Element &&
  target.closest('input:not([type=checkbox]), select, textarea, [contenteditable]') !== null

const isInteractive = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest('a, button, input, summary') !== null

/**
 * Returns whether a key belongs to the page: not to a field, a dialog or the browser. No key does if the user
 * has switched single keys off.
 */
const isForPage = (event: KeyboardEvent): boolean =>
  areSingleKeysOn.value &&
  !event.defaultPrevented &&
  !event.ctrlKey &&
  !event.metaKey &&
  !event.altKey &&
  !isTyping(event.target) &&
  document.querySelector('dialog[open]') === null

/**
 * Lets J and K move the mark to the next and the previous row, Enter open the marked lead, and X select it.
 * The mark also moves the focus to the link of the row, so that screen readers read the row. Returns the
 * reference of the marked lead, and a function that marks a lead.
 */
export const useQueueKeys = (leads: ManagedLead[], selection: Selection | undefined) => {
  const [marked, mark] = useState<string>()
  const [, navigate] = useLocation()
  const latest = useRef({ leads, selection, marked, navigate })
  latest.current = { leads, selection, marked, navigate }
  useEffect(() => {
    const move = (step: 1 | -1) => {
      const { leads, marked } = latest.current
      const place = leads.findIndex(({ reference }) => reference === marked)
      const next = place === -1 ? leads[0] : leads[place + step]
      if (!next) return
      mark(next.reference)
      const link = document.getElementById(renderLinkId(next.reference))
      link?.focus({ preventScroll: true })
      link?.closest('tr')?.scrollIntoView({ block: 'nearest' })
    }
    const findMarked = () => latest.current.leads.find(({ reference }) => reference === latest.current.marked)
    const select = () => {
      const lead = findMarked()
      if (lead) latest.current.selection?.toggle(lead)
    }
    const open = ({ target }: Event) => {
      const lead = findMarked()
      // The browser itself opens a link that has the focus.
      if (lead && !isInteractive(target)) latest.current.navigate(`/leads/${lead.reference}`)
    }
    const keys: Record<string, (event: Event) => void> = {
      j: () => move(1),
      k: () => move(-1),
      x: select,
      enter: open,
    }
    const onKeyDown = (event: KeyboardEvent) => {
      if (isForPage(event)) keys[event.key.toLowerCase()]?.(event)
    }
    document.addEventListener('keydown', onKeyDown)
    return () => document.removeEventListener('keydown', onKeyDown)
  }, [])
  return { marked, mark }
}
