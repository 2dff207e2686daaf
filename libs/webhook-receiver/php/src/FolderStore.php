<?php

declare(strict_types=1);

namespace Leadwire\WebhookReceiver;

/**
 * Remembers, in a folder, the ids of the events whose work is done. Each event has a file, which an attempt
 * locks while its work is in progress. All PHP processes of one machine share the folder. If a process dies,
 * its locks are released.
 */
final class FolderStore
{
    /**
     * @param string $folder is created if it does not exist
     * @param int $rememberSeconds a day by default, which outlasts all retries (1 h 51 min) and an outage of
     *   some hours
     */
    public function __construct(private readonly string $folder, private readonly int $rememberSeconds = 86_400)
    {
        if (!is_dir($folder) && !@mkdir($folder, 0700, true) && !is_dir($folder)) {
            throw new \RuntimeException("The folder $folder can't be created.");
        }
    }

    /**
     * Calls $work once for each webhook-id. If $work throws, throws its error, and the next attempt calls
     * $work again.
     * @param callable(): mixed $work
     */
    public function once(string $id, callable $work): Outcome
    {
        // The file name is a hash, because an id may have any characters.
        $file = fopen("$this->folder/" . hash('sha256', $id), 'c+');
        if ($file === false) {
            throw new \RuntimeException("The folder $this->folder can't be written to.");
        }
        try {
            if (!flock($file, LOCK_EX | LOCK_NB)) {
                return Outcome::InProgress;
            }
            ['size' => $size, 'mtime' => $mtime] = fstat($file);
            if ($size > 0 && $mtime > time() - $this->rememberSeconds) {
                return Outcome::Duplicate;
            }
            $work();
            ftruncate($file, 0);
            fwrite($file, $id);
        } finally {
            fclose($file);
        }
        if (random_int(1, 100) === 1) {
            $this->prune();
        }
        return Outcome::Kept;
    }

    /**
     * Deletes the files of events older than `rememberSeconds`. One in a hundred calls of `once` calls this
     * method.
     */
    public function prune(): void
    {
        foreach (glob("$this->folder/*") ?: [] as $path) {
            if (filemtime($path) <= time() - $this->rememberSeconds) {
                @unlink($path);
            }
        }
    }
}
