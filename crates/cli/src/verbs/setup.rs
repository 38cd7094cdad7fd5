//! `scrubjay setup`: a few questions from nothing to proven alerts.

use super::settings_file::{self, SettingsFile};
use super::{alert, ask};
use crate::args::SetupArgs;
use crate::columns;
use crate::exit::{Exit, Usage};
use crate::say::{print_line, print_prose, shown_path};
use anyhow::{Context, Result, bail};
use console::Term;
use scrubjay_control::{WatchAnswer, WatchRequest};
use scrubjay_daemon::channels::AlertChannels;
use scrubjay_daemon::config::WatchConfig;
use scrubjay_device::output::{Existing, OutputFile};
use std::fs;
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};

/// The channel that is set up.
const EMAIL: &str = "email";
/// Attempts to type a code, at most.
const TRIES: usize = 5;

/// The answers to the questions.
struct MailAnswers {
    to: String,
    server: Option<String>,
    user: Option<String>,
    password: Option<String>,
}

/// Asks, writes the settings, and makes sure that a message arrives.
pub fn run(args: &SetupArgs) -> Result<Exit> {
    let file = SettingsFile::read(args.config.as_deref())?;
    let path = &file.path;
    let shown = shown_path(path);
    let mut out = io::stdout().lock();
    let has_mail = file.config.alert.email.is_some();
    if !has_mail {
        let answers = questions(&mut out)?;
        let after = with_mail(&file.text, &answers, path)?;
        write_password(path, &answers)?;
        let config = WatchConfig::parse(&after).map_err(|error| Usage(format!("{shown}{error}")))?;
        AlertChannels::from_settings(&config.alert)
            .map_err(|fault| Usage(format!("{fault}: the settings stay as they were; start again: scrubjay setup")))?;
        file.replace(&after)?;
        writeln!(out)?;
        print_line(&mut out, format_args!("Written: {shown}"))?;
    }
    // The command that continues here.
    let resume_command = match &args.config {
        Some(_) => format!("sudo scrubjay setup --config {shown}"),
        None => "sudo scrubjay setup".to_owned(),
    };
    match ask(&WatchRequest::Reload) {
        Ok(WatchAnswer::Done { said }) if said.ends_with(&path.display().to_string()) => {
            prove(&mut out, &shown, has_mail, &resume_command)
        }
        Ok(_) => {
            let other = shown_path(&settings_file::path_in_use()?);
            print_prose(&mut out, "", &format!("The watch that runs reads another file, {other}."), columns::width())?;
            print_line(
                &mut out,
                format_args!("End it, and start it with this one:  sudo scrubjay watch --config {shown}"),
            )?;
            print_line(&mut out, format_args!("Then go on here:  {resume_command}"))?;
            Ok(Exit::Found)
        }
        Err(error) => {
            print_prose(&mut out, "", &format!("{error:#}"), columns::width())?;
            print_line(&mut out, format_args!("Then go on here:  {resume_command}"))?;
            Ok(Exit::Found)
        }
    }
}

/// Asks where alerts go: to whom, by which server, as which user there, and with which password.
fn questions(out: &mut impl Write) -> Result<MailAnswers> {
    let terminal = Term::stderr();
    // Answers may come from a file or a program, but there must be some.
    if !io::stdin().is_terminal() && io::stdin().lock().fill_buf()?.is_empty() {
        return Err(no_answer());
    }
    writeln!(out, "Every sector of every disk is read within 35 days, while the disk is idle.")?;
    writeln!(out, "Where are alerts to go?\n")?;
    let to = question(out, "Mail to")?;
    if to.is_empty() {
        return Err(Usage("no channel was chosen: nothing was written".to_owned()).into());
    }
    let server = question(out, "Its SMTP server, such as smtp.example.org [this machine's sendmail]")?;
    if let Some(fault) = address_fault(&to, &server) {
        return Err(Usage(format!("{fault}: nothing was written; start again: scrubjay setup")).into());
    }
    if server.is_empty() {
        return Ok(MailAnswers { to, server: None, user: None, password: None });
    }
    let user = question(out, &format!("User there [{to}]; - for none"))?;
    if user == "-" {
        return Ok(MailAnswers { to, server: Some(server), user: None, password: None });
    }
    let user = if user.is_empty() { to.clone() } else { user };
    write!(out, "Password (kept in a file that only root can read): ")?;
    out.flush()?;
    let password = if terminal.is_term() { terminal.read_secure_line()? } else { line()? };
    if password.is_empty() {
        return Err(Usage("no password: nothing was written".to_owned()).into());
    }
    Ok(MailAnswers { to, server: Some(server), user: Some(user), password: Some(password) })
}

/// What is wrong with where mail is to go, if anything is. This machine's own sendmail knows users without an `@`.
fn address_fault(to: &str, server: &str) -> Option<String> {
    let is_address = |to: &str| to.split_once('@').is_some_and(|(user, host)| !user.is_empty() && !host.is_empty());
    if server.contains('@') {
        return Some(format!("the server `{server}` is an address: a server is called smtp.example.org, or so"));
    }
    let mut addresses = to.split([',', ' ']).filter(|to| !to.is_empty());
    let wrong = addresses.find(|to| !is_address(to) && (to.contains('@') || !server.is_empty()))?;
    Some(format!("`{wrong}` is no mail address: write me@example.org, or so"))
}

fn question(out: &mut impl Write, prompt: &str) -> Result<String> {
    write!(out, "{prompt}: ")?;
    out.flush()?;
    line()
}

/// Reads a line of input.
fn line() -> Result<String> {
    let mut line = String::new();
    if io::stdin().read_line(&mut line)? == 0 {
        return Err(no_answer());
    }
    Ok(line.trim().to_owned())
}

fn no_answer() -> anyhow::Error {
    Usage("setup asks questions, and there is no terminal: edit the settings instead (docs/alerts.md)".into()).into()
}

/// The settings with the mail channel at their end; the rest stays as it is.
fn with_mail(before: &str, answers: &MailAnswers, path: &Path) -> Result<String> {
    let quoted = |text: &str| serde_json::to_string(text); // a JSON string is a TOML string
    let mut after = before.to_owned();
    if !after.is_empty() && !after.ends_with('\n') {
        after.push('\n');
    }
    after.push_str("\n[alert.email]\n");
    let to: Vec<String> =
        answers.to.split([',', ' ']).filter(|to| !to.is_empty()).map(quoted).collect::<Result<_, _>>()?;
    after.push_str(&format!("to = [{}]\n", to.join(", ")));
    if let Some(server) = &answers.server {
        after.push_str(&format!("server = {}\n", quoted(server)?));
    }
    if let Some(user) = &answers.user {
        let file = password_file(path);
        after.push_str(&format!("user = {}\npassword-file = {}\n", quoted(user)?, quoted(&file.to_string_lossy())?));
    }
    WatchConfig::parse(&after)
        .map_err(|error| Usage(format!("that makes no settings: {error}: nothing was written")))?;
    Ok(after)
}

/// The path of the password file, beside the settings.
fn password_file(path: &Path) -> PathBuf {
    path.with_file_name("smtp.password")
}

fn write_password(path: &Path, answers: &MailAnswers) -> Result<()> {
    let Some(password) = &answers.password else { return Ok(()) };
    let file = password_file(path);
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    let mut output = OutputFile::create_private(&file, Existing::Replaced)?;
    writeln!(output, "{password}")?;
    Ok(output.commit()?)
}

/// Sends a test, and asks for its code.
fn prove(out: &mut impl Write, file: &str, has_mail: bool, resume_command: &str) -> Result<Exit> {
    if has_mail {
        let mail = alert::alerts(&WatchRequest::Alerts)?.channels.into_iter().find(|channel| channel.name == EMAIL);
        if let Some(mail) = mail.filter(|mail| mail.is_proven == Some(true) && mail.failing_since.is_none()) {
            print_prose(out, "", &format!("All is set up: alerts by email are {}.", mail.proof), columns::width())?;
            writeln!(out, "Another test:  sudo scrubjay alert test")?;
            return Ok(Exit::Clean);
        }
        print_line(out, format_args!("[alert.email] of {file} is tested now."))?;
        print_line(out, format_args!("(To answer the questions again, take [alert.email] out of that file.)"))?;
    } else {
        writeln!(out, "A test is being sent.")?;
    }
    if !alert::test(out)? {
        writeln!(out)?;
        print_line(out, format_args!("Mend that in {file}, or by one of these:"))?;
        writeln!(out, "  sudo scrubjay set alert.email.server smtp.example.org:587")?;
        writeln!(out, "  sudo scrubjay set alert.email.tls tls       (or starttls, or none)")?;
        let password = password_file(Path::new(file));
        if password.exists() {
            print_line(out, format_args!("The password is in {}.", shown_path(&password)))?;
        }
        print_line(out, format_args!("Then go on here:  {resume_command}"))?;
        return Ok(Exit::Found);
    }
    for _ in 0..TRIES {
        let code = question(out, "The code of six digits in the mail (nothing: later)")?;
        if code.is_empty() {
            writeln!(out, "Later:  sudo scrubjay alert confirm CODE")?;
            return Ok(Exit::Found);
        }
        match ask(&WatchRequest::Confirm { code }) {
            Ok(WatchAnswer::Done { said }) => {
                print_line(out, format_args!("{said}"))?;
                writeln!(out, "All is set up. How things stand:  sudo scrubjay status")?;
                return Ok(Exit::Clean);
            }
            Ok(_) => bail!("the watch answered something else: is it another version?"),
            Err(error) => print_line(out, format_args!("{error:#}"))?,
        }
    }
    Ok(Exit::Found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(user: Option<&str>) -> MailAnswers {
        let user = user.map(str::to_owned);
        MailAnswers {
            to: "me@example.org, you@example.org".into(),
            server: Some("smtp.example.org:587".into()),
            password: user.as_ref().map(|_| "secret".into()),
            user,
        }
    }

    #[test]
    fn what_is_no_address_is_refused_unless_sendmail_may_know_the_user() {
        let fault = |to, server| address_fault(to, server).unwrap_or_default();
        assert_eq!(fault("me@example.org, you@example.org", "smtp.example.org"), "");
        assert_eq!(fault("root", ""), "", "a user of this machine");
        assert!(fault("root", "smtp.example.org").starts_with("`root` is no mail address"));
        assert!(fault("me@example.org you@", "").starts_with("`you@` is no mail address"));
        assert!(fault("me@example.org", "me@example.org").starts_with("the server `me@example.org` is an address"));
    }

    #[test]
    fn existing_settings_stay_and_mail_is_added() {
        let before = "# mine\nhost = \"nas1\"";
        let after = with_mail(before, &answers(Some("a\"b")), Path::new("/etc/scrubjay/config.toml")).unwrap();
        assert!(after.starts_with("# mine\nhost = \"nas1\"\n\n[alert.email]\n"), "{after}");
        let config = WatchConfig::parse(&after).unwrap();
        assert_eq!(config.host.as_deref(), Some("nas1"));
        assert!(after.contains("to = [\"me@example.org\", \"you@example.org\"]"), "{after}");
        assert!(after.contains("password-file = \"/etc/scrubjay/smtp.password\""), "{after}");
        assert!(!after.contains("secret"));
        let plain = with_mail("", &answers(None), Path::new("c.toml")).unwrap();
        assert!(!plain.contains("user"), "{plain}");
    }

    #[test]
    fn the_password_file_is_readable_by_its_owner_only() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("etc/config.toml");
        fs::create_dir(folder.path().join("etc")).unwrap();
        fs::write(password_file(&path), "old").unwrap(); // readable for all
        write_password(&path, &answers(Some("me"))).unwrap();
        let mode = fs::metadata(password_file(&path)).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode, fs::read_to_string(password_file(&path)).unwrap().as_str()), (0o600, "secret\n"));
        fs::write(&path, "# mine\n").unwrap();
        fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        let file = SettingsFile::read(Some(&path)).unwrap();
        file.replace("host = \"a\"\n").unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode, fs::read_to_string(&path).unwrap().as_str()), (0o640, "host = \"a\"\n"));
    }
}
