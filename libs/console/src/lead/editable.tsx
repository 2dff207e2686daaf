import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Problem } from '../api'
import { type FieldErrors, IdPrefix, useForm } from '../parts/form'
import { showNotice } from '../parts/notices'
import { Pencil } from '../parts/pencil'
import { Conflict } from './conflict'
import { type LeadState, type ManagedLead, retrieveLead } from './load-lead'
import type { LeadPage } from './use-lead'

export interface EditableProps {
  page: LeadPage
  label: string
  /** The value, as the page shows it while it is not edited. */
  children: ComponentChildren
  /** The names of the inputs. */
  names: string[]
  renderInputs: (lead: ManagedLead, errors: FieldErrors) => ComponentChildren
  /** Saves the inputs that differ from `state.lead`, as a change of the state with `state.etag`. */
  save: (fields: FormData, state: LeadState) => Promise<void>
  class?: string
}

const FOCUSABLE = 'input, select, textarea'

type EditorProps = EditableProps & { begun: LeadState; close: () => void }

/**
 * Edits one value of a lead. If others have changed the lead since `begun`, the inputs stay, the changes of
 * the others are shown, and a second save applies to the new state of the lead.
 */
const Editor = ({ label, names, renderInputs, save, begun, close }: EditorProps) => {
  const form = useRef<HTMLFormElement>(null)
  const [current, setCurrent] = useState<LeadState>()
  useLayoutEffect(() => form.current!.querySelector<HTMLElement>(FOCUSABLE)?.focus(), [])
  const send = async (fields: FormData) => {
    try {
      // Keeps the lead of `begun`, so that inputs which the user has not changed are not sent.
      await save(fields, { lead: begun.lead, etag: (current ?? begun).etag })
    } catch (error) {
      if (!(error instanceof Problem) || error.status !== 412) throw error
      setCurrent(await retrieveLead(begun.lead.reference))
      return
    }
    showNotice('Saved.')
    close()
  }
  const { onSubmit, errors, failure, isBusy } = useForm(send, names)
  const closeOnEscape = (event: KeyboardEvent) => {
    if (event.key !== 'Escape') return
    event.preventDefault()
    close()
  }
  return (
    <form
      ref={form}
      class="part"
      aria-label={`Edit ${label.toLowerCase()}`}
      aria-busy={isBusy}
      noValidate
      onSubmit={onSubmit}
      onKeyDown={closeOnEscape}
    >
      <IdPrefix.Provider value="edit-">{renderInputs(begun.lead, errors)}</IdPrefix.Provider>
      {current && <Conflict before={begun.lead} now={current.lead} />}
      {failure}
      <div class="actions">
        <button type="submit">{current ? 'Save anyway' : 'Save'}</button>
        <button type="button" class="quiet" onClick={close}>
          Cancel
        </button>
      </div>
    </form>
  )
}

/** A value of a lead that can be edited in place. Escape ends the editing and changes nothing. */
export const Editable = (props: EditableProps) => {
  const { page, label, children, class: className = '' } = props
  const { lead, etag } = page.shown
  const [begun, setBegun] = useState<LeadState>()
  const button = useRef<HTMLButtonElement>(null)
  const hasClosed = useRef(false)
  useLayoutEffect(() => {
    // Returns the focus to the button, which was not on the page while the user was editing. An effect that
    // runs after the next paint would lose a key pressed in between.
    if (!begun && hasClosed.current) button.current?.focus()
    hasClosed.current = begun !== undefined
  }, [begun])
  return (
    <div class={`editable ${className} ${begun ? 'open' : ''}`}>
      <dt class={begun ? 'unseen' : undefined}>{label}</dt>
      <dd>
        {begun ? (
          <Editor {...props} begun={begun} close={() => setBegun(undefined)} />
        ) : (
          <>
            <span class="wrap">{children}</span>
            {page.mayEdit && (
              <button
                ref={button}
                type="button"
                class="icon"
                aria-label={`Edit ${label.toLowerCase()}`}
                onClick={() => setBegun({ lead, etag })}
              >
                <Pencil />
              </button>
            )}
          </>
        )}
      </dd>
    </div>
  )
}
