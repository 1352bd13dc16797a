//! Standard output and error, which may block for ever when their reader stalls.
//!
//! A thread writes; whoever has something to say leaves it in a bounded buffer.
//! Invariant: [`Console::write`] never waits; what does not fit, or is refused (a full disk), is
//! counted, and said as soon as something can be.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::signals::leave_to_the_loop;

/// What may wait for a slow reader, in bytes.
const BOUND: usize = 16 << 20;
/// How long a reader that takes nothing is left alone, where a write does not wait for it.
const STALL: Duration = Duration::from_millis(20);

/// A stream with its writer thread.
#[derive(Debug, Clone)]
pub struct Console(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    buffer: Vec<u8>,
    dropped: u64,
    closed: bool,
    /// Bytes are on their way to the reader.
    busy: bool,
    done: bool,
}

impl Console {
    /// The process's standard output.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn stdout() -> io::Result<Self> {
        Self::over(own(io::stdout())?)
    }

    /// The process's standard error.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn stderr() -> io::Result<Self> {
        Self::over(own(io::stderr())?)
    }

    fn over(stream: impl Write + Send + 'static) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let written = Arc::clone(&shared);
        thread::Builder::new().name("console".to_owned()).stack_size(64 * 1024).spawn(move || {
            leave_to_the_loop();
            written.serve(stream);
        })?;
        Ok(Self(shared))
    }

    /// Leaves bytes to be written.
    pub fn write(&self, bytes: &[u8]) {
        let mut state = self.0.lock();
        if state.done {
            return;
        }
        if state.buffer.len() + bytes.len() > BOUND {
            state.dropped += bytes.len() as u64;
        } else {
            state.buffer.extend_from_slice(bytes);
        }
        self.0.changed.notify_all();
    }

    /// Waits until nothing is left to be written, at most `patience` in all; goes on afterwards.
    pub fn drain(&self, patience: Duration) {
        let mut state = self.0.lock();
        let end = Instant::now() + patience;
        while !state.done && (state.busy || !state.buffer.is_empty()) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = self.0.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits until everything is written, at most `patience` without progress of the reader's.
    pub fn finish(&self, patience: Duration) {
        let mut state = self.0.lock();
        state.closed = true;
        self.0.changed.notify_all();
        while !state.done {
            let waited = self.0.changed.wait_timeout(state, patience).unwrap_or_else(PoisonError::into_inner);
            state = waited.0;
            if waited.1.timed_out() {
                return;
            }
        }
    }
}

/// The stream by a descriptor of our own: whoever holds the library's lock on it is not waited for.
fn own(stream: impl AsFd) -> io::Result<File> {
    Ok(File::from(stream.as_fd().try_clone_to_owned()?))
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, mut stream: impl Write) {
        // What was refused and is not said yet; whether a line was torn by that.
        let (mut refused, mut torn) = (0, false);
        let mut state = self.lock();
        loop {
            if state.buffer.is_empty() && state.dropped == 0 {
                if state.closed {
                    break;
                }
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            state.busy = true;
            let bytes = std::mem::take(&mut state.buffer);
            let dropped = std::mem::take(&mut state.dropped);
            drop(state);
            let before = notice(refused, torn);
            let text = [&before, &bytes, &notice(dropped, false)].map(Vec::as_slice).concat();
            let (count, written) = write_all(&mut stream, &text);
            state = self.lock();
            state.busy = false;
            self.changed.notify_all();
            match written {
                Ok(()) => (refused, torn) = (0, false),
                Err(cause) if cause.kind() == io::ErrorKind::BrokenPipe => {
                    // The reader is gone: from now on nobody is to be shown anything.
                    state.closed = true;
                    state.buffer.clear();
                    state.dropped = 0;
                }
                // A full disk may have room again when there is more to say.
                Err(_) => {
                    let whole = (bytes.len() + before.len()).saturating_sub(count.max(before.len()));
                    refused = if count < before.len() { refused } else { 0 } + whole as u64 + dropped;
                    torn = if count == 0 { torn } else { text[count - 1] != b'\n' };
                }
            }
        }
        state.done = true;
        self.changed.notify_all();
    }
}

/// The line that says that so much is missing; nothing, if nothing is.
fn notice(bytes: u64, in_line: bool) -> Vec<u8> {
    let start = if in_line { "\n" } else { "" };
    let text = format!("{start}[harnessd: {bytes} bytes are not shown]\n");
    if bytes == 0 { Vec::new() } else { text.into_bytes() }
}

/// Writes all, also to a descriptor that somebody has made non-blocking; how much could be written.
fn write_all(stream: &mut impl Write, bytes: &[u8]) -> (usize, io::Result<()>) {
    let mut count = 0;
    while count < bytes.len() {
        match stream.write(&bytes[count..]) {
            Ok(0) => return (count, Err(io::ErrorKind::WriteZero.into())),
            Ok(more) => count += more,
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => thread::sleep(STALL),
            Err(cause) => return (count, Err(cause)),
        }
    }
    (count, stream.flush())
}

impl Write for Console {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Self::write(self, bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{BOUND, Console};
    use std::io::{self, Read, Write, pipe};
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    /// A disk that takes a little, is full for a while, and has room again.
    #[derive(Clone, Default)]
    struct Disk(Arc<Mutex<(Vec<u8>, u32)>>);

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut disk = self.0.lock().unwrap();
            disk.1 += 1;
            let count = match disk.1 {
                1 => 3,
                2..4 => return Err(io::Error::from_raw_os_error(28)),
                _ => bytes.len(),
            };
            disk.0.extend_from_slice(&bytes[..count]);
            Ok(count)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// A log on a disk that was full goes on when there is room, and says how much is missing.
    #[test]
    fn a_full_disk_does_not_silence_for_good() {
        let disk = Disk::default();
        let console = Console::over(disk.clone()).unwrap();
        let writes = |count| {
            while disk.0.lock().unwrap().1 < count {
                std::thread::yield_now();
            }
        };
        console.write(b"one line\n");
        writes(2);
        console.write(b"two\n");
        writes(3);
        console.write(b"three\n");
        console.finish(Duration::from_secs(30));
        let text = String::from_utf8(disk.0.lock().unwrap().0.clone()).unwrap();
        assert_eq!(text, "one\n[harnessd: 10 bytes are not shown]\nthree\n");
    }

    /// A reader that stalls delays nobody: what does not fit is counted, and said when it reads on.
    #[test]
    fn a_stalled_reader_delays_nobody() {
        let (mut reader, writer) = pipe().unwrap();
        let console = Console::over(writer).unwrap();
        let piece = vec![b'x'; 1 << 20];
        // One buffer may be on its way to the reader while another one fills.
        let pieces = 2 * BOUND / piece.len() + 4;
        for _ in 0..pieces {
            console.write(&piece);
        }
        // Nothing is read: finishing gives up, and the caller can go.
        console.finish(Duration::from_millis(20));
        let all = std::thread::spawn(move || {
            let mut all = String::new();
            reader.read_to_string(&mut all).unwrap();
            all
        });
        console.finish(Duration::from_secs(30));
        drop(console);
        let all = all.join().unwrap();
        let shown = all.bytes().filter(|byte| *byte == b'x').count();
        let note = all.trim_start_matches('x');
        let dropped: usize = note.split(' ').nth(1).unwrap().parse().unwrap();
        assert_eq!(note, format!("[harnessd: {dropped} bytes are not shown]\n"));
        assert_eq!(shown + dropped, pieces * piece.len());
    }
}
