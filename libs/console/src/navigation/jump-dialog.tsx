import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { Link, useLocation } from 'wouter-preact'
import { asProblem, ownScopes, renderProblem } from '../api'
import { type Endpoint, listEndpoints } from '../endpoints'
import { formatCount } from '../parts/format'
import { findEndpoints, findLeads, findPages, matches, type Target } from './find-targets'
import { listNavPages } from './list-nav-pages'

const DEBOUNCE_MS = 200

const ignore = () => undefined

/** Loads the endpoints once, if the scopes allow. The dialog works without them. */
const useEndpoints = (): Endpoint[] => {
  const [endpoints, setEndpoints] = useState<Endpoint[]>([])
  useEffect(() => {
    const scopes = ownScopes.peek()
    if (!scopes.has('webhooks') && !scopes.has('manage:read')) return
    const controller = new AbortController()
    listEndpoints(controller.signal).then(setEndpoints, ignore)
    return () => controller.abort()
  }, [])
  return endpoints
}

interface Found {
  /** The text that was searched. */
  of: string
  leads: Target[]
  problem?: string
}

/** Searches the leads a moment after the last input. */
const useLeads = (text: string): Found => {
  const [found, setFound] = useState<Found>({ of: '', leads: [] })
  useEffect(() => {
    if (text === '' || !ownScopes.peek().has('leads:read')) {
      setFound({ of: text, leads: [] })
      return
    }
    const controller = new AbortController()
    const { signal } = controller
    const search = async () => {
      try {
        const leads = await findLeads(text, signal)
        if (!signal.aborted) setFound({ of: text, leads })
      } catch (error) {
        if (!signal.aborted) setFound({ of: text, leads: [], problem: renderProblem(asProblem(error)) })
      }
    }
    const timer = setTimeout(search, DEBOUNCE_MS)
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [text])
  return found
}

/**
 * Returns the leads to show for a text. Until the response has arrived, these are the earlier leads whose
 * names contain the text, so that the list neither flickers nor offers a lead that does not match.
 */
const listShownLeads = ({ of, leads }: Found, text: string): Target[] => {
  if (text === '') return []
  return of === text ? leads : leads.filter((lead) => matches(lead, text))
}

const describeCount = (count: number, isSearching: boolean) => {
  if (count > 0) return formatCount(count, 'result')
  return isSearching ? 'Searching…' : 'Nothing matches.'
}

interface OptionProps {
  id: string
  target: Target
  isActive: boolean
}

const Option = ({ id, target: { path, name, detail, code }, isActive }: OptionProps) => (
  <Link id={id} href={path} role="option" aria-selected={isActive} tabIndex={-1}>
    <strong>{name}</strong>
    {detail && <span>{` ${detail}`}</span>}
    {code && <span class="mono">{` ${code}`}</span>}
  </Link>
)

const keepFocus = (event: MouseEvent) => event.preventDefault()

/** A dialog that finds pages, leads and endpoints by their names, and opens one of them. */
export const JumpDialog = ({ onClose }: { onClose: () => void }) => {
  const id = useId()
  const dialog = useRef<HTMLDialogElement>(null)
  const [, navigate] = useLocation()
  const [input, setInput] = useState('')
  // A path, not an index, so that the selection survives a response that adds targets above it.
  const [selected, setSelected] = useState<string>()
  const text = input.trim()
  const endpoints = useEndpoints()
  const found = useLeads(text)

  const groups: [name: string, targets: Target[]][] = [
    ['Pages', findPages(listNavPages(ownScopes.value), text)],
    ['Endpoints', text ? findEndpoints(endpoints, text) : []],
    // The leads arrive last, so they come last. The first option then stays the same while the user types.
    ['Leads', listShownLeads(found, text)],
  ]
  const targets = groups.flatMap(([, some]) => some)
  const index = Math.max(
    targets.findIndex(({ path }) => path === selected),
    0,
  )
  const active = targets[index]

  useEffect(() => dialog.current!.showModal(), [])
  useEffect(
    () => document.getElementById(`${id}-${active?.path}`)?.scrollIntoView({ block: 'nearest' }),
    [active?.path],
  )

  const close = () => dialog.current!.close()
  const move = (step: number) => setSelected(targets.at((index + step) % targets.length)?.path)
  const open = ({ path }: Target) => {
    close()
    navigate(path)
  }
  const handleKey = (event: KeyboardEvent) => {
    // Enter also confirms a character of an input method.
    if (!active || event.isComposing) return
    const acts: Record<string, () => void> = {
      ArrowDown: () => move(1),
      ArrowUp: () => move(-1),
      Enter: () => open(active),
    }
    const act = acts[event.key]
    if (!act) return
    event.preventDefault()
    act()
  }
  const closeAfterClick = ({ target }: MouseEvent) => {
    if (target === dialog.current || (target as Element).closest('a')) close()
  }
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes the dialog, and Enter opens a target.
    <dialog
      ref={dialog}
      class="card jump-to"
      aria-label="Jump to"
      onClose={onClose}
      onClick={closeAfterClick}
    >
      <div>
        <input
          type="text"
          role="combobox"
          aria-label="Jump to a lead, an endpoint or a page"
          aria-autocomplete="list"
          aria-expanded={targets.length > 0}
          aria-controls={`${id}-list`}
          aria-activedescendant={active && `${id}-${active.path}`}
          autocomplete="off"
          spellcheck={false}
          placeholder="Name, telephone, reference, endpoint or page"
          value={input}
          onInput={({ currentTarget }) => {
            setInput(currentTarget.value)
            setSelected(undefined)
          }}
          onKeyDown={handleKey}
        />
        <div
          id={`${id}-list`}
          role="listbox"
          aria-label="Results"
          hidden={targets.length === 0}
          tabIndex={-1}
          onMouseDown={keepFocus}
        >
          {groups.map(
            ([name, some]) =>
              some.length > 0 && (
                // biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms.
                <div key={name} role="group" aria-labelledby={`${id}-${name}`}>
                  <div id={`${id}-${name}`} class="group-name">
                    {name}
                  </div>
                  {some.map((target) => (
                    <Option
                      key={target.path}
                      id={`${id}-${target.path}`}
                      target={target}
                      isActive={target === active}
                    />
                  ))}
                </div>
              ),
          )}
        </div>
        {found.problem && (
          <p class="error" role="alert">
            {found.problem}
          </p>
        )}
        <p class={targets.length > 0 ? 'unseen' : 'faint'} role="status">
          {describeCount(targets.length, found.of !== text)}
        </p>
      </div>
    </dialog>
  )
}
